"""Writes that only Azure's clients need."""
