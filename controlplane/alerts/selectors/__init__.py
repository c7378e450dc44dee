"""Reads of objectives, alerts, silences and channels."""
