"""What is allowed: warnings where it is seldom meant, notes where another way is often better."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.inspection.edits import fixed, value_replaced
from worker_runtime.repository.ensembles import is_ensemble

LONG_DELAY_US = 5_000
USUAL_DELAY_US = 1_000
_DELAY = "dynamic_batching[0].max_queue_delay_microseconds"


def advise(text: str, config: Any) -> Iterator[Problem]:
    """``config`` is the completed configuration written as ``text``."""
    delay = config.dynamic_batching.max_queue_delay_microseconds
    if config.HasField("dynamic_batching") and delay > LONG_DELAY_US:
        message = f"Every request may wait up to {_time(delay)} in the queue."
        yield fixed(
            Problem(
                "QueueDelayLong",
                message,
                severity="warning",
                field=_DELAY,
                hints=("Most interactive models use 100 to 2,000 \u00b5s.",),
                plain=message,
            ),
            f"Set {USUAL_DELAY_US:,} \u00b5s",
            value_replaced(text, _DELAY, str(USUAL_DELAY_US)),
        )
    if (
        config.max_batch_size > 1
        and config.WhichOneof("scheduling_choice") is None
        and not is_ensemble(config)
        and not config.model_transaction_policy.decoupled
    ):
        message = "Dynamic batching is off. Concurrent requests run one by one."
        yield fixed(
            Problem(
                "DynamicBatchingOff",
                message,
                severity="info",
                field="max_batch_size",
                hints=("Waiting requests can share a batch, which a GPU computes almost at once.",),
                plain=message,
            ),
            "Switch it on",
            f"{text.rstrip()}\n\ndynamic_batching {{ }}\n",
        )


def _time(us: int) -> str:
    if us >= 1_000_000:
        return f"{us / 1_000_000:g} s"
    return f"{us / 1000:g} ms"
