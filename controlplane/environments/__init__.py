"""Environments: lists of packages that scoring scripts run with, by name and version."""
