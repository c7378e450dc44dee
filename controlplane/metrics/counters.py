"""Pure: cumulative counters of a replica made into increases over a window, restarts included."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from controlplane.metrics.types import SAMPLE_INTERVAL_S

STALE_S: Final = 6.0  # a replica not sampled for this long shows a gap
FRESH_S: Final = 2 * SAMPLE_INTERVAL_S  # a younger process was not sampled before
START: Final = -1  # index of the moment at which a fresh process began, with nothing counted
Sample = Mapping[str, Any]  # wire.samples.ReplicaSample as parsed JSON
Key = tuple[str, str]  # a model and its version
OWNED: Final[Key] = ("", "")  # what is of the replica itself
# Name of a sum -> field of wire.samples.ModelCounters.
REQUESTS: Final = {
    "success": "request_success",
    "error_answers": "error_answers",
    "inferences": "inference_count",
    "request_us": "request_duration_us",
    "queue_us": "queue_duration_us",
    "input_us": "compute_input_duration_us",
    "infer_us": "compute_infer_duration_us",
    "output_us": "compute_output_duration_us",
}
WORK: Final = {
    "rows": "inference_count",
    "executions": "exec_count",
    "busy_us": "busy_us",
    "hits": "cache_hits",
    "misses": "cache_misses",
}
TABLES: Final = {"batch": "batch_counts", "batch_us": "batch_compute_us"}
# The same of calls of other models (BLS), by callee: of one model alone, since whose calls they are
# is what matters of them.
CALLS: Final = {"calls": "calls", "call_failures": "call_failures", "call_us": "call_us"}
# The same of the replica itself, of wire.samples.ReplicaSample.
OWN: Final = {
    "cpu_s": "cpu_seconds",
    "waited_s": "waited_s",
    "loop_looks": "loop_looks",
    "loop_late_s": "loop_late_s",
}


def _values(
    model: Mapping[str, Any], *, composed: bool, tables: Mapping[str, str]
) -> dict[str, float]:
    """One model's counters by name; a batch size counts as ``batch.<size>``.

    Where an ensemble is loaded (``composed``) a request counts once, for the ensemble, whose
    durations are the sums over its steps; executions count for the steps, which do the work.
    """
    values: dict[str, float] = {}
    if not model.get("step"):
        values |= {name: float(model.get(source, 0.0)) for name, source in REQUESTS.items()}
        failures = model.get("request_failure", {})
        values["failure"] = float(sum(failures.values()))
        values |= {f"failure.{reason}": float(count) for reason, count in failures.items()}
        buckets = model.get("first_response", {})
        values |= {f"first.{bound}": float(count) for bound, count in buckets.items()}
    if model.get("instances") or not composed:
        values |= {name: float(model.get(source, 0.0)) for name, source in WORK.items()}
        for name, source in tables.items():
            table = model.get(source, {})
            values |= {f"{name}.{size}": float(count) for size, count in table.items()}
    return values


@dataclass(slots=True)
class Track:
    """One replica over time. ``sums`` only ever rise: a counter that fell has started from zero.

    ``began`` is when its process was started, where the first sample saw it fresh: what that sample
    counted came since then. None where counting begins with the first sample. ``since`` is the
    index of the first sample after its node's clock was last set back: nobody knows how long what
    was counted across that took.
    """

    at: list[float] = field(default_factory=list)
    sums: list[dict[str, float]] = field(default_factory=list)
    gauges: list[dict[str, float]] = field(default_factory=list)
    began: float | None = None
    since: int = 0

    def first(self, last: int) -> int:
        """Index of where counting up to ``last`` may begin."""
        if 0 < self.since <= last:
            return self.since
        return START if self.began is not None else 0

    def before(self, t: float, last: int) -> int:
        """Index of the last sample up to ``t`` to count from, up to ``last``."""
        return max(bisect_right(self.at, t) - 1, self.first(last))

    def window(self, t: float, width_s: float) -> tuple[int, int] | None:
        """Indices of the sample valid at ``t`` and of the one ``width_s`` before it.

        None when there is none, when it is stale, or when it is the only one of an old process.
        """
        last = bisect_right(self.at, t) - 1
        if last <= self.first(last) or t - self.at[last] > max(STALE_S, width_s):
            return None
        # why the tolerance: timers are not exact, and the sample meant is the one a tick earlier
        return (self.before(self.at[last] - 0.9 * width_s, last), last)

    @property
    def all(self) -> tuple[int, int]:
        """Indices of where counting began, and of the last sample."""
        last = len(self.at) - 1
        return (self.first(last), last)

    def latest(self, t: float) -> int | None:
        last = bisect_right(self.at, t) - 1
        return last if last >= 0 and t - self.at[last] <= STALE_S else None

    def increase(self, name: str, span: tuple[int, int]) -> float:
        base, last = span
        counted = 0.0 if base == START else self.sums[base].get(name, 0.0)
        return self.sums[last].get(name, 0.0) - counted

    def seconds(self, span: tuple[int, int]) -> float:
        base, last = span
        began = self.began if base == START and self.began is not None else self.at[base]
        return self.at[last] - began


@dataclass(slots=True)
class Growing:
    """A track that is made sample by sample; with ``only`` of that model alone."""

    only: str = ""
    track: Track = field(default_factory=Track)
    _before: dict[Key, dict[str, float]] = field(default_factory=dict)
    _sums: dict[str, float] = field(default_factory=dict)

    def add(self, sample: Sample) -> None:
        """The next one of this replica, in the order in which they came."""
        made, before = self.track, self._before
        at, counted = float(sample["at"]), self._counted(sample)
        if not made.at:
            made.began = _began(sample)
        elif at <= made.at[-1]:
            if not _went_on(before, counted):
                return  # it came late, or twice: the ones after it have counted it
            self._set_back(at)
        whole = made.began is not None
        sums = self._sums = dict(self._sums)
        gauges = {"memory_bytes": float(sample.get("memory_bytes", 0))}
        for key, values in counted.items():
            _rise(sums, before, key, values, whole)
        for model in sample["models"]:
            if self.only and model["model"] != self.only:
                continue
            gauges["pending"] = gauges.get("pending", 0.0) + model.get("pending_request_count", 0.0)
            gauges["instances"] = gauges.get("instances", 0.0) + model.get("instances", 0.0)
            load = float(model.get("load_seconds", 0.0))
            gauges["load_seconds"] = max(gauges.get("load_seconds", 0.0), load)
        made.at.append(at)
        made.sums.append(sums)
        made.gauges.append({"pending": 0.0, **gauges})

    def _counted(self, sample: Sample) -> dict[Key, dict[str, float]]:
        """The counters of the replica itself, and of each of its models."""
        models = sample["models"]
        composed = not self.only and any(model.get("step") for model in models)
        tables = TABLES | CALLS if self.only else TABLES
        found = {OWNED: {name: float(sample.get(source, 0.0)) for name, source in OWN.items()}}
        for model in models:
            if self.only in ("", model["model"]):
                seen = {**model, "step": False} if self.only else model
                found[model["model"], model["version"]] = _values(
                    seen, composed=composed, tables=tables
                )
        return found

    def _set_back(self, at: float) -> None:
        """The node's clock was: what was sampled at ``at`` and later has no time any more."""
        made = self.track
        kept = bisect_left(made.at, at)
        del made.at[kept:], made.sums[kept:], made.gauges[kept:]
        made.since = kept
        if not kept:
            made.began = None

    def trim(self, until: float) -> None:
        """Forget what was sampled up to then: counting begins with the first that is left."""
        made = self.track
        gone = bisect_right(made.at, until)
        if gone:
            del made.at[:gone], made.sums[:gone], made.gauges[:gone]
            made.began = None
            made.since = max(0, made.since - gone)


def track(samples: Iterable[Sample], only: str = "") -> Track:
    """``samples`` of one replica, in the order in which they came; with ``only`` of that model."""
    growing = Growing(only)
    for sample in samples:
        growing.add(sample)
    return growing.track


def _began(first: Sample) -> float | None:
    """When the process of a replica's first sample was started, if nobody can have sampled it
    before. Older agents do not say."""
    began = float(first.get("started_at", 0.0))
    return began if 0 < float(first["at"]) - began <= FRESH_S else None


def _went_on(
    before: Mapping[Key, Mapping[str, float]], counted: Mapping[Key, Mapping[str, float]]
) -> bool:
    """Whether this was counted after ``before``, whatever the clock said."""
    pairs = [
        (value, before.get(key, {}).get(name, 0.0))
        for key, values in counted.items()
        for name, value in values.items()
    ]
    return all(now >= was for now, was in pairs) and any(now > was for now, was in pairs)


def _rise(
    sums: dict[str, float],
    before: dict[Key, dict[str, float]],
    key: Key,
    now: dict[str, float],
    whole: bool,
) -> None:
    """Add what came since ``before``; what fell has started from zero.

    ``whole``: the process has been seen since it began, so what is new has started from zero too.
    """
    old = before.get(key)
    for name, value in now.items():
        # why else its own value: what an old process counted before is nobody's window
        was = old.get(name, 0.0) if old is not None else (0.0 if whole else value)
        sums[name] = sums.get(name, 0.0) + (value - was if value >= was else value)
    before[key] = now
