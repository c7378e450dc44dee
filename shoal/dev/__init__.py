"""Serving a model while somebody works on it: what is behind ``shoal dev``."""
