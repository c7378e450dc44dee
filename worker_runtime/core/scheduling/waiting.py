"""The queue of one model version, when to look at it again, and how requests leave it unserved."""

import asyncio
from collections.abc import Callable, Iterable

from worker_runtime.core.execution.answers import Answers
from worker_runtime.core.scheduling.queue import QueueConfig, RequestQueue
from worker_runtime.core.statistics import FailureReason
from worker_runtime.errors import Cancelled, QueueFull, QueueTimeout, RuntimeFault, Unavailable
from worker_runtime.types.request import InferRequest

STOPPED = "Server is stopping, scheduler for model has stopped accepting new inference requests"


class Alarm:
    """Calls ``ring`` in the event loop at the earliest time that was asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._at_ns = 0

    def at(self, wake_ns: int, now_ns: int) -> None:
        """Ring at ``wake_ns`` (0: no need), or earlier if that was asked for before."""
        if not wake_ns or (self._timer is not None and self._at_ns <= wake_ns):
            return
        self.stop()
        self._at_ns = wake_ns
        self._timer = self._loop.call_later(max(0, wake_ns - now_ns) / 1e9, self._rings)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rings(self) -> None:
        self._timer = None
        self._ring()


class Waiting:
    """Everything is called in the event loop; ``woken`` when it is time to look at the queue."""

    def __init__(
        self,
        config: QueueConfig,
        answers: Answers,
        loop: asyncio.AbstractEventLoop,
        woken: Callable[[], None],
    ) -> None:
        self.queue = RequestQueue(config)
        self._answers = answers
        self._alarm = Alarm(loop, woken)

    def refused(self, request: InferRequest, error: QueueFull, now: int) -> RuntimeFault:
        """Count a request that the queue did not take, and say what to raise."""
        self._answers.statistics.failed(FailureReason.REJECTED, now - request.arrived_ns)
        return error.for_request(request.id)

    def expire(self, now: int) -> None:
        """Fail the requests whose deadline has passed."""
        for request in self.queue.sweep(now):
            fault = QueueTimeout("Request timeout expired")
            self._answers.fail(request, fault, FailureReason.REJECTED)

    def wake_at(self, wake_ns: int, now: int) -> None:
        """Look again at ``wake_ns`` (0: no need) or the next deadline, whichever is first."""
        deadline = self.queue.next_deadline()
        if deadline and (not wake_ns or deadline < wake_ns):
            wake_ns = deadline
        self._alarm.at(wake_ns, now)

    def cancelled(self, request: InferRequest) -> None:
        """Tell a request that has left the queue because its client has gone."""
        fault = Cancelled("the request was cancelled")
        self._answers.fail(request, fault, FailureReason.CANCELED)

    def close(self, others: Iterable[InferRequest] = ()) -> None:
        """Fail everything that waits, ``others`` first."""
        self._alarm.stop()
        for request in (*others, *self.queue.clear()):
            self._answers.fail(request, Unavailable("the model was unloaded"), FailureReason.OTHER)
