"""Reads of metrics: live series of an endpoint, and log lines of a deployment."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """Series over one axis of Unix seconds: ``v[k][i]`` is the value of ``keys[k]`` at ``t[i]``."""

    keys: list[str]
    t: list[float]
    v: list[list[float | None]]


def live_keys(endpoint: str) -> list[str]:
    """Names of the series, in a stable order; they change when deployments or batch sizes do."""
    raise NotImplementedError


def live_series(endpoint: str, range_s: float) -> Columns:
    """The last ``range_s`` seconds; null where nothing was measured."""
    raise NotImplementedError


def live_tick(endpoint: str, keys: list[str], now: float) -> tuple[float, list[float | None]]:
    """One value per key as of ``now`` (Unix seconds), and the moment they stand for."""
    raise NotImplementedError
