"""What the engine asks of a scheduler, whichever way it lets requests wait and run."""

from typing import Protocol

from worker_runtime.core.statistics import Statistics
from worker_runtime.types.request import InferRequest


class Scheduler(Protocol):
    """Everything is called in the event loop."""

    statistics: Statistics

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

    async def drain(self) -> None:
        """Refuse new requests and return when the last answer is out and the threads ended."""
        ...

    def close(self) -> None:
        """End at once: waiting requests fail, executing ones finish behind our back."""
        ...
