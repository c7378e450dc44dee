"""Shapes on the wire, one file per noun."""
