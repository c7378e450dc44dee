"""Pure: when a replica that serves has run out of GPU memory too often to be left as it is."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from node_agent.reasons import GPU_FULL
from wire.messages import Problem
from wire.samples import ModelCounters

LIMIT: Final = 3
WINDOW_S: Final = 300.0
# A model that serves more than nine of ten executions has a way back: some requests are too large.
LEAST_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class MemoryPressureRule:
    """``limit`` executions without memory within ``window_s`` are too many; 0: never."""

    limit: int = LIMIT
    window_s: float = WINDOW_S


@dataclass(frozen=True, slots=True)
class _Failed:
    at: float
    count: int
    executed_before: float


@dataclass(slots=True)
class _Model:
    failed: float = 0.0
    executed: float = 0.0
    failures: deque[_Failed] = field(default_factory=deque)
    problem: Problem | None = None


class MemoryPressure:
    """Of one runtime process. ``fresh``: its counters are seen from the beginning."""

    def __init__(self, rule: MemoryPressureRule, *, fresh: bool) -> None:
        self._rule = rule
        self._fresh = fresh
        self._models: dict[tuple[str, str], _Model] = {}

    def observe(self, models: Iterable[ModelCounters], now: float) -> Problem | None:
        """Take in counters as scraped at ``now`` (seconds, any beginning); why it must not stay so.

        The answer stays the same text until it is None again: it is no news each time.
        """
        if not self._rule.limit:
            return None
        for counters in models:
            self._count(counters, now)
        problems = [self._assess(name, model, now) for (name, _), model in self._models.items()]
        return next((problem for problem in problems if problem is not None), None)

    def _count(self, counters: ModelCounters, now: float) -> None:
        key = (counters.model, counters.version)
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = _Model()
            if not self._fresh:  # what happened before somebody looked is no news
                model.failed, model.executed = counters.gpu_out_of_memory, counters.exec_count
        more = counters.gpu_out_of_memory - model.failed
        if more > 0:
            model.failures.append(_Failed(now, int(more), model.executed))
        elif more < 0:  # loaded again: it counts from zero
            model.failures.clear()
        model.failed, model.executed = counters.gpu_out_of_memory, counters.exec_count

    def _assess(self, name: str, model: _Model, now: float) -> Problem | None:
        rule, failures = self._rule, model.failures
        while failures and failures[0].at < now - rule.window_s:
            failures.popleft()
        count = sum(failed.count for failed in failures)
        executed = model.executed - failures[0].executed_before if failures else 0.0
        if count < rule.limit or count < LEAST_SHARE * executed:
            model.problem = None
        elif model.problem is None:
            model.problem = Problem(
                "GpuOutOfMemory",
                f"Model {name!r} ran out of GPU memory {count} times within "
                f"{_duration(rule.window_s)} while it served.",
                detail=f"{count} of {max(count, int(executed))} executions failed for it.",
                hints=GPU_FULL,
            )
        return model.problem


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
