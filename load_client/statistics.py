"""Pure: what a runtime's own statistics say of the time between two looks at them."""

from dataclasses import dataclass
from typing import Any, Final

COMPUTE: Final = ("compute_input", "compute_infer", "compute_output")


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums since the model was loaded, over its versions; times in nanoseconds."""

    requests: int
    inferences: int
    executions: int
    queue_ns: int
    compute_ns: int


@dataclass(frozen=True, slots=True)
class Between:
    batch: float | None
    queue_us: float
    compute_us: float
    requests: int


def counts(answer: Any) -> Counts:
    """From the answer of ``/v2/models/…/stats``. Raises ValueError for what is none."""
    try:
        rows = [row["inference_stats"] for row in answer["model_stats"]]
        return Counts(
            requests=sum(int(row["success"]["count"]) for row in rows),
            inferences=sum(int(row["inference_count"]) for row in answer["model_stats"]),
            executions=sum(int(row["execution_count"]) for row in answer["model_stats"]),
            queue_ns=sum(int(row["queue"]["ns"]) for row in rows),
            compute_ns=sum(int(row[name]["ns"]) for row in rows for name in COMPUTE),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"no statistics of a model: {error!r}") from error


def between(before: Counts | None, after: Counts | None) -> Between | None:
    """None where nothing is known: no statistics, no request, or it was started anew meanwhile."""
    if before is None or after is None:
        return None
    requests = after.requests - before.requests
    executions = after.executions - before.executions
    queue, compute = after.queue_ns - before.queue_ns, after.compute_ns - before.compute_ns
    if requests <= 0 or min(executions, queue, compute) < 0:
        return None
    inferences = after.inferences - before.inferences
    return Between(
        batch=inferences / executions if executions else None,
        queue_us=queue / requests / 1000,
        compute_us=compute / requests / 1000,
        requests=requests,
    )
