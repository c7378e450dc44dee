"""What copies of models in front ends have counted, on its way into the core's own statistics.

Counters are handed over, not told: what has been taken begins at 0 again, so that it counts once,
whatever becomes of the front end.
"""

from typing import Any

from worker_runtime.core.statistics import BatchCount, FailureReason, Statistics
from worker_runtime.frontends.messages import ModelCounts
from worker_runtime.observability.metrics.latency import BOUNDS, PHASES

SUMS = (
    *("success_count", "success_ns", "fail_count", "fail_ns", "queue_ns", "input_ns", "infer_ns"),
    *("output_ns", "row_count", "execution_count", "gpu_out_of_memory_count", "error_answer_count"),
)


def taken(number: int, statistics: Statistics) -> ModelCounts | None:
    """What was counted since the last time; None: nothing."""
    if not (statistics.success_count or statistics.fail_count):
        return None
    failures = {str(reason): count for reason, count in statistics.failures.items() if count}
    rows = {
        size: (row.count, row.input_ns, row.infer_ns, row.output_ns)
        for size, row in statistics.batches.items()
    }
    found = ModelCounts(
        number,
        [getattr(statistics, name) for name in SUMS],
        statistics.last_inference_ms,
        failures,
        rows,
        [getattr(statistics.latencies, phase) for phase in PHASES],
    )
    for name in SUMS:
        setattr(statistics, name, 0)
    statistics.failures = dict.fromkeys(FailureReason, 0)
    statistics.batches = {}
    for phase in PHASES:
        setattr(statistics.latencies, phase, [0] * (len(BOUNDS) + 1))
    if statistics.summaries is not None:
        phases = statistics.summaries.phases
        found.summaries = {phase: seen.take() for phase, seen in phases.items()}
    return found


def add(statistics: Statistics, counts: ModelCounts) -> None:
    """Count it here, too."""
    for name, value in zip(SUMS, counts.sums, strict=True):
        setattr(statistics, name, getattr(statistics, name) + value)
    statistics.last_inference_ms = max(statistics.last_inference_ms, counts.last_inference_ms)
    for reason, count in counts.failures.items():
        statistics.failures[FailureReason(reason)] += count
    for size, (number, input_ns, infer_ns, output_ns) in counts.batches.items():
        batch = statistics.batches.setdefault(size, BatchCount())
        batch.count += number
        batch.input_ns += input_ns
        batch.infer_ns += infer_ns
        batch.output_ns += output_ns
    for phase, seen in zip(PHASES, counts.latencies, strict=True):
        buckets: list[Any] = getattr(statistics.latencies, phase)
        for place, count in enumerate(seen):
            buckets[place] += count
    if statistics.summaries is not None:
        for phase, (values, total) in counts.summaries.items():
            statistics.summaries.phases[phase].add(values, total)
