"""Data capture: a share of the requests with their answers, as JSON lines in a folder."""
