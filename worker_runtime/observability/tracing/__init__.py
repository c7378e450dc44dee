"""Traces of single requests: Triton's files and OpenTelemetry."""
