"""The inference server: Triton's protocols and repository layout over in-process backends."""

__version__ = "0.1.0"
