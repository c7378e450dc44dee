"""What the engine asks of a scheduler, whichever way it lets requests wait and run."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from worker_runtime.core.statistics import Statistics
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import InferRequest


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
