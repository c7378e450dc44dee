"""What schedulers share: the other models, the response cache, the rate limiter."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from worker_runtime.core.plans import Planner
from worker_runtime.core.response_cache import ResponseCache
from worker_runtime.core.scheduling.base import Scheduler
from worker_runtime.core.scheduling.delays import NO_DELAYS, Delays
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.observability.metrics.config import MetricsConfig
from worker_runtime.types.signature import Signature


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
