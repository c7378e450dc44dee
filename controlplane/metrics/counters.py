"""Pure: cumulative counters of a replica made into increases over a window, restarts included."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

STALE_S: Final = 6.0  # a replica not sampled for this long shows a gap
FIELDS: Final = (
    "success",
    "failure",
    "inference_count",
    "exec_count",
    "queue_duration_us",
    "compute_input_duration_us",
    "compute_infer_duration_us",
    "compute_output_duration_us",
)
Sample = Mapping[str, Any]  # wire.messages.ReplicaSample as parsed JSON


def _values(model: Mapping[str, Any]) -> dict[str, float]:
    """One model's counters by name; a batch size counts as ``batch.<size>``."""
    values = {name: float(model.get(name, 0.0)) for name in FIELDS[2:]}
    values["success"] = float(model.get("request_success", 0.0))
    values["failure"] = float(sum(model.get("request_failure", {}).values()))
    for size, count in model.get("batch_counts", {}).items():
        values[f"batch.{size}"] = float(count)
    return values


@dataclass(slots=True)
class Track:
    """One replica over time. ``sums`` only ever rise: a counter that fell has started from zero."""

    at: list[float] = field(default_factory=list)
    sums: list[dict[str, float]] = field(default_factory=list)
    pending: list[float] = field(default_factory=list)
    memory_bytes: list[float] = field(default_factory=list)

    def window(self, t: float, width_s: float) -> tuple[int, int] | None:
        """Indices of the sample valid at ``t`` and of the one ``width_s`` before it.

        None when there is none, when it is stale, or when it is the only one.
        """
        last = bisect_right(self.at, t) - 1
        if last < 1 or t - self.at[last] > max(STALE_S, width_s):
            return None
        # why the tolerance: timers are not exact, and the sample meant is the one a tick earlier
        base = bisect_right(self.at, self.at[last] - 0.9 * width_s) - 1
        return (max(base, 0), last)

    def latest(self, t: float) -> int | None:
        last = bisect_right(self.at, t) - 1
        return last if last >= 0 and t - self.at[last] <= STALE_S else None

    def increase(self, name: str, span: tuple[int, int]) -> float:
        base, last = span
        return self.sums[last].get(name, 0.0) - self.sums[base].get(name, 0.0)

    def seconds(self, span: tuple[int, int]) -> float:
        return self.at[span[1]] - self.at[span[0]]


def track(samples: Iterable[Sample]) -> Track:
    """``samples`` of one replica, in order of time."""
    made = Track()
    before: dict[tuple[str, str], dict[str, float]] = {}
    sums: dict[str, float] = {}
    for sample in samples:
        sums = dict(sums)
        pending = 0.0
        for model in sample["models"]:
            key = (model["model"], model["version"])
            now = _values(model)
            pending += float(model.get("pending_request_count", 0.0))
            old = before.get(key)
            for name, value in now.items():
                # the first sample is where counting begins: what came before is nobody's window
                was = value if old is None else old.get(name, 0.0)
                sums[name] = sums.get(name, 0.0) + (value - was if value >= was else value)
            before[key] = now
        made.at.append(float(sample["at"]))
        made.sums.append(sums)
        made.pending.append(pending)
        made.memory_bytes.append(float(sample.get("memory_bytes", 0)))
    return made
