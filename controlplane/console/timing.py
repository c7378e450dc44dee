"""Where the time of one call went: what was measured here and what the model counted. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PARTS = ("queue", "compute_input", "compute_infer", "compute_output")
MAX_OTHERS = 1000  # beyond this many other calls in between, a mean says nothing about ours


@dataclass(frozen=True, slots=True)
class Counters:
    """Cumulative counts and nanoseconds of one model on one replica."""

    count: Mapping[str, int]
    ns: Mapping[str, int]


def counters(stats: Any) -> Counters | None:
    """From the answer of ``v2/models/<m>/stats``; None when it is not one."""
    try:
        parts = stats["model_stats"][0]["inference_stats"]
        return Counters(
            count={part: int(parts[part]["count"]) for part in PARTS},
            ns={part: int(parts[part]["ns"]) for part in PARTS},
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def timing(
    *,
    total_us: float,
    upstream_us: float | None,
    before: Counters | None,
    after: Counters | None,
) -> dict[str, float | None]:
    """Microseconds per part; None where it was not measured.

    Counters may have been read from another replica than the one that answered, so parts that
    cannot be true (less than nothing, more than the whole call) are left out.
    """
    parts: dict[str, float | None] = {f"{part}_us": None for part in PARTS}
    if before is not None and after is not None:
        for part in PARTS:
            calls = after.count[part] - before.count[part]
            ns = after.ns[part] - before.ns[part]
            if 0 < calls <= MAX_OTHERS and 0 <= ns / calls <= total_us * 1000:
                parts[f"{part}_us"] = round(ns / calls / 1000, 1)
    gateway_us = None if upstream_us is None else max(0.0, total_us - upstream_us)
    return {
        "total_us": round(total_us, 1),
        "gateway_us": None if gateway_us is None else round(gateway_us, 1),
        **parts,
    }
