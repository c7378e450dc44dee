"""What schedulers share: the other models, the response cache, the rate limiter, test delays."""

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct, field

from worker_runtime.core.plans import Planner
from worker_runtime.core.response_cache import ResponseCache
from worker_runtime.core.scheduling.base import Scheduler
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.observability.metrics.latency import MetricsConfig
from worker_runtime.types.signature import Signature


class Delays(Struct, frozen=True):
    """How many requests must wait in the queues, and in the backlog, before the first batch."""

    queued: int = 0
    backlog: int = 0

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Delays":
        """As Triton's two variables say."""
        return cls(
            queued=_number(environment.get("TRITONSERVER_DELAY_SCHEDULER", "")),
            backlog=_number(environment.get("TRITONSERVER_BACKLOG_DELAY_SCHEDULER", "")),
        )


NO_DELAYS = Delays()


def _number(text: str) -> int:
    """What C's atoi makes of it, nothing below 0."""
    found = re.match(r"\s*\+?(\d+)", text)
    return int(found.group(1)) if found else 0


class ServedModel(Protocol):
    """A READY model version, as others use it."""

    name: str
    version: int
    signature: Signature
    planner: Planner
    scheduler: Scheduler

    def pin(self) -> None:
        """Keep it from draining until ``unpin``."""
        ...

    def unpin(self) -> None: ...


def no_other_models(name: str, version: str) -> ServedModel:
    raise LookupError(f"model '{name}' version '{version}': there are no other models here")


class SchedulingContext(Struct, frozen=True):
    """``resolve`` finds the READY version of a model ("" = the highest); raises a RuntimeFault.

    With a ``limiter`` models run when it grants them a turn. ``unload_timeout_s``: how long a
    model that is unloaded may give no answer before it is given up; 0: for ever.
    ``longest_wait_ns``: that a request may be in a model's queue; 0: as long as the model allows.
    ``delays``: what must have come before first batches, for tests.
    """

    resolve: Callable[[str, str], ServedModel] = no_other_models
    cache: ResponseCache | None = None
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    limiter: RateLimiter | None = None
    unload_timeout_s: float = 60.0
    longest_wait_ns: int = 0
    delays: Delays = NO_DELAYS


STANDALONE = SchedulingContext()
