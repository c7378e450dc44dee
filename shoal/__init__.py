"""Shoal for people and programs: command line, Python client, local installation."""

__version__ = "0.1.0"
