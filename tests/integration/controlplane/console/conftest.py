"""Fixtures of the console's tests."""

from conftest_console import gateway, runtime, served

__all__ = ["gateway", "runtime", "served"]
