"""What the engine asks of a scheduler, and what schedulers get: other models, cache, limiter."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from worker_runtime.core.plans import Planner
from worker_runtime.core.response_cache import ResponseCache
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.core.statistics import Statistics
from worker_runtime.observability.metrics.latency import MetricsConfig
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature


class Scheduler(Protocol):
    """Everything is called in the event loop."""

    statistics: Statistics

    @property
    def goes_on(self) -> bool:
        """Takes requests while the server stops: those of sequences that have begun."""
        return False

    @property
    def resizable(self) -> bool:
        """Its instances may be other ones from one batch to the next."""
        return False

    @property
    def on_device(self) -> bool:
        """Takes inputs that lie on a device, and leaves outputs there."""
        return False

    @property
    def takes_regions(self) -> bool:
        """Inputs may lie in device memory of clients: what needs them on the host copies them in
        its own threads, not in the event loop."""
        return self.on_device

    @property
    def pending(self) -> int:
        """Requests that wait and do not execute yet."""
        ...

    @property
    def busy(self) -> bool:
        """Something waits or executes."""
        ...

    def submit(self, request: InferRequest) -> None:
        """Take a request in. Raises a RuntimeFault at once; else its sink is called later."""
        ...

    def cancel(self, request: InferRequest) -> bool:
        """Drop a waiting request and fail it; False when it is executing or done."""
        ...

    def resize(
        self,
        instances: Sequence[Any],  # noqa: ARG002 # for those that can
        places: Sequence[InstancePlace],  # noqa: ARG002
        gone: Callable[[Any], None],  # noqa: ARG002
    ) -> Callable[[], None] | None:
        """Execute on ``instances`` from now on, whose ``places`` these are, in their order.

        Raises TypeError where that is not possible.

        What is given back waits (blocking: not in the event loop) for those that leave. None:
        some take their time, and ``gone`` is called with each that has left.
        """
        raise TypeError(f"a {type(self).__name__} keeps its instances")

    async def finish_sequences(self) -> None:
        """Refuse new sequences and return when those that have begun are at an end, or idle."""
        return

    async def drain(self) -> None:
        """Refuse new requests and return when the last answer is out and the threads ended."""
        ...

    def close(self) -> None:
        """End at once: waiting requests fail, executing ones finish behind our back."""
        ...


class Delays(Struct, frozen=True):
    """How many requests must wait in the queues, and in the backlog, before the first batch.

    Triton's own tests ask for it.
    """

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
