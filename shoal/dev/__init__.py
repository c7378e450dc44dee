"""Serving a model while somebody works on it: what is behind ``shoal dev``."""

DEBUG_PORT = 5678  # debugpy's own
