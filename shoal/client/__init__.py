"""The Python client of Shoal's REST API."""

from shoal.client.client import Client
from shoal.client.discovery import Installation, find_installation
from shoal.client.errors import (
    ConnectionFailed,
    InstallationNotFound,
    OperationFailed,
    Problem,
    ShoalError,
    UnusableSource,
    WaitTimeout,
)

__all__ = [
    "Client",
    "ConnectionFailed",
    "Installation",
    "InstallationNotFound",
    "OperationFailed",
    "Problem",
    "ShoalError",
    "UnusableSource",
    "WaitTimeout",
    "find_installation",
]
