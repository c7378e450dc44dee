"""Shoal for people and programs: command line, Python SDK, local installation."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.entities import (
        load_alert_rules,
        load_channel,
        load_environment,
        load_model,
        load_online_deployment,
        load_online_endpoint,
        load_rollout,
        load_silence,
    )
    from shoal.sdk import MLClient

__all__ = [
    "MLClient",
    "__version__",
    "load_alert_rules",
    "load_channel",
    "load_environment",
    "load_model",
    "load_online_deployment",
    "load_online_endpoint",
    "load_rollout",
    "load_silence",
]


def __getattr__(name: str) -> Any:
    """On use: the command line must start without HTTP and YAML libraries."""
    homes = {"MLClient": "shoal.sdk"}
    if name in __all__:
        return getattr(import_module(homes.get(name, "shoal.entities")), name)
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")
