"""Shapes of objectives, alerts, silences and channels on the wire."""
