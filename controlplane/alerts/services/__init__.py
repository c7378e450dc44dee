"""Writes of objectives, alerts, silences and channels."""
