"""The version of this package, where everything in it may read it."""

__version__ = "0.1.0"
