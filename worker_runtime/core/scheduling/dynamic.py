"""The loop part of one model version: requests in, batches to instances, answers out.

Everything here runs in the event loop. The policy decides, the queue holds, the pool executes;
there is no task, future or lock per request.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Any

from msgspec import Struct, field

from worker_runtime.backends.base import LoadedModel
from worker_runtime.core.execution.answers import Answers, Times
from worker_runtime.core.execution.choice import executor_for
from worker_runtime.core.execution.executor import Batch
from worker_runtime.core.execution.on_device import DeviceExecutor
from worker_runtime.core.execution.pool import InstancePool
from worker_runtime.core.execution.ragged import RaggedExecutor
from worker_runtime.core.scheduling.base import Scheduler
from worker_runtime.core.scheduling.batching import BatchingConfig, BatchPolicy, Payload
from worker_runtime.core.scheduling.inline import InlineRunner
from worker_runtime.core.scheduling.ordering import Ordering
from worker_runtime.core.scheduling.queue import QueueConfig
from worker_runtime.core.scheduling.waiting import STOPPED, Waiting
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import QueueFull, RuntimeFault, Unavailable
from worker_runtime.types.instances import InstancePlace, active
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import BatchTensors, Signature

_INLINE_PER_TURN = 32
_PAYLOADS_PER_INSTANCE = 2  # that may wait while all instances are busy


class SchedulerConfig(Struct, frozen=True):
    """``ahead`` batches may wait behind the instances, so that a thread never runs dry.

    ``decoupled`` models may answer a request any number of times, and after its batch is over.
    ``first_at``: how many requests must wait before the first batch leaves.
    """

    batching: BatchingConfig = field(default_factory=BatchingConfig)
    queue: QueueConfig = field(default_factory=QueueConfig)
    preserve_ordering: bool = False
    ahead: int = 0
    decoupled: bool = False
    tensors: BatchTensors | None = None
    first_at: int = 0


class DynamicScheduler(Scheduler):
    """``places`` say which of the instances are passive: they get no requests."""

    def __init__(
        self,
        signature: Signature,
        config: SchedulerConfig,
        loaded: LoadedModel,
        loop: asyncio.AbstractEventLoop,
        statistics: Statistics,
        places: Sequence[InstancePlace] = (),
    ) -> None:
        self.statistics = statistics
        self._loop = loop
        answers = Answers(statistics)
        self._waiting = Waiting(config.queue, answers, loop, self._woken)
        self._queue = self._waiting.queue
        self._policy = BatchPolicy(config.batching)
        self._executor = executor_for(
            signature,
            loaded,
            answers,
            loop,
            self._signal_idle,
            decoupled=config.decoupled,
            tensors=config.tensors,
        )
        self._pool = InstancePool(
            signature.model,
            self._places_of(active(places, loaded.instances)),
            self._executor,
            loop,
            self._finished,
        )
        self._inline = None
        if loaded.inline is not None:
            self._inline = InlineRunner(loaded.inline, self._executor)
        # A tiny model that does not batch has nothing to wait for.
        self._alone = None
        if not (config.batching.dynamic or config.preserve_ordering):
            self._alone = self._inline
        # why none behind lanes: while one computes, the next of its instance waits in the other.
        self._late = self.on_device
        self._ahead = 0 if self._late else config.ahead
        self._slots = self._pool.size + self._ahead
        self._devices = len(active(places, loaded.instances))
        self._due = 0  # batches whose end is not near yet, of those on devices
        if isinstance(self._executor, DeviceExecutor):
            self._executor.soon = self._soon
        self._in_flight = 0
        self._pump_planned = False
        self._ordering = Ordering() if config.preserve_ordering else None
        self._ready: deque[Payload] = deque()  # due, but every instance is busy; the last may grow
        self._grows = self._policy.grows and not self._queue.has_policy
        self._first_at = config.first_at
        self._pump = self._pump_payloads if self._grows else self._pump_batches
        if self._first_at:
            self._pump = self._pump_first
        self._idle: asyncio.Event | None = None
        self._closed = False

    @property
    def on_device(self) -> bool:
        return isinstance(self._executor, DeviceExecutor)

    @property
    def takes_regions(self) -> bool:
        """All but ragged batches. Tiny models that run in the loop copy there: no more than that
        keeps them tiny."""
        return not isinstance(self._executor, RaggedExecutor)

    @property
    def pending(self) -> int:
        waiting = len(self._queue)
        if self._ready:
            waiting += sum([len(payload.requests) for payload in self._ready])
        return waiting

    @property
    def busy(self) -> bool:
        return bool(self._in_flight or len(self._queue) or self._ready or self._executor.open)

    def submit(self, request: InferRequest) -> None:
        """Take a request in. Raises QueueFull or Unavailable; else its sink is called later."""
        if self._closed:
            raise Unavailable(STOPPED).for_request(request.id)
        now = request.queued_ns = monotonic_ns()
        alone = self._alone
        if alone is not None and alone.governor.on and not self._queue:
            alone.run_alone(request, now)
            return
        try:
            self._queue.push(request, now, request.timeout_ns)
        except QueueFull as error:
            raise self._waiting.refused(request, error, now) from None
        # why not at once: what one turn of the loop brings in leaves as one batch.
        # A queue with deadlines is looked at even while every instance is busy: it sets the timer.
        if not self._pump_planned and (
            self._in_flight < self._slots or self._grows or self._queue.has_policy
        ):
            self._plan_pump()

    def cancel(self, request: InferRequest) -> bool:
        """Drop a waiting request; False when it is executing or done (its answer is ignored)."""
        request.cancelled = True
        if not self._queue.remove(request) and not self._withdraw(request):
            return False
        self._waiting.cancelled(request)
        self._signal_idle()
        return True

    def _withdraw(self, request: InferRequest) -> bool:
        """Take a request out of a batch that waits for an instance."""
        for payload in self._ready:
            for position, waiting in enumerate(payload.requests):
                if waiting is request:
                    del payload.requests[position]
                    payload.rows -= request.plan.rows
                    if not payload.requests:
                        self._ready.remove(payload)
                    return True
        return False

    @property
    def resizable(self) -> bool:
        return True

    def resize(
        self,
        instances: Sequence[Any],
        places: Sequence[InstancePlace],  # noqa: ARG002 # one is as good as another
        gone: Callable[[Any], None],  # noqa: ARG002 # none takes longer than its batch
    ) -> Callable[[], None]:
        ended = self._pool.resize(self._places_of(instances))
        self._slots = self._pool.size + self._ahead
        self._devices = len(instances)
        if (self._ready or len(self._queue)) and not self._pump_planned:
            self._plan_pump()
        return ended

    async def drain(self) -> None:
        """Refuse new requests and wait until the last answer is out, then end the threads."""
        self._closed = True
        if self.busy:
            self._idle = asyncio.Event()
            self._pump()  # why: it may have waited for more to come
            await self._idle.wait()
        self.close()
        await self._loop.run_in_executor(None, self.join, 5.0)

    def join(self, timeout_s: float) -> None:
        """Wait for the threads to end (blocking: not in the event loop)."""
        self._pool.join(timeout_s)

    def close(self) -> None:
        """End at once: waiting requests fail, executing ones finish behind our back."""
        self._closed = True
        ready = [request for payload in self._ready for request in payload.requests]
        self._ready.clear()
        self._waiting.close(ready)
        self._pool.close()

    def _plan_pump(self) -> None:
        self._pump_planned = True
        self._loop.call_soon(self._pump)

    def _pump_first(self) -> None:
        """Wait for as many requests as the first batch wants; from then on, batches leave."""
        self._pump_planned = False
        if self._closed or len(self._queue) >= self._first_at:
            self._pump = self._pump_payloads if self._grows else self._pump_batches
            self._pump()

    def _pump_batches(self) -> None:
        """Hand batches to instances while there are free slots and the policy agrees."""
        self._pump_planned = False
        queue, inline = self._queue, 0
        while len(queue) and self._in_flight < self._slots:
            now = monotonic_ns()
            if queue.has_policy:
                self._expire(now)
            take, wake_ns, full = self._policy.decide(queue, now)
            if not take:
                self._waiting.wake_at(wake_ns, now)
                return
            if self._late and not full and self._due >= self._devices:
                break  # it may grow until the one before has almost computed
            if self._start(queue.take(take)):
                inline += 1
                if inline >= _INLINE_PER_TURN and len(queue):
                    # why: other connections want their turn of the loop. Once: an answer may have
                    # brought the next request in already, and two pumps would be four then.
                    if not self._pump_planned:
                        self._plan_pump()
                    return
        if queue.has_policy and len(queue):
            self._waiting.wake_at(0, monotonic_ns())

    def _pump_payloads(self) -> None:
        """The same through payloads, which are made and grow whether or not an instance is free."""
        self._pump_planned = False
        now, ready = monotonic_ns(), self._ready
        if self._queue.has_policy:  # a client's deadline may have come with its request
            self._expire(now)
        limit = _PAYLOADS_PER_INSTANCE * self._pool.size
        wake_ns = self._policy.gather(self._queue, ready, limit, now)
        inline = 0
        while ready and self._in_flight < self._slots and inline < _INLINE_PER_TURN:
            if self._late and not ready[0].full and self._due >= self._devices:
                break
            inline += self._start(self._policy.pop(ready))
            wake_ns = self._policy.gather(self._queue, ready, limit, now)
        if inline == _INLINE_PER_TURN and ready and not self._pump_planned:
            self._plan_pump()
        self._waiting.wake_at(wake_ns, now)

    def _places_of(self, instances: Sequence[Any]) -> Sequence[Any]:
        """What threads there are to be: one for each instance, or for each lane on a device."""
        if not self.on_device:
            return instances
        return [lane for item in instances for lane in item.lanes]

    def _start(self, batch: Batch) -> bool:
        """Execute a batch; True when that happened here and now."""
        if self._ordering is not None:
            for request in batch:
                self._ordering.admit(request)
        inline = self._inline
        if inline is not None and inline.governor.on:
            inline.run(batch)
            if self._idle is not None:
                self._signal_idle()  # a drain waits, and no thread comes back to tell it
            return True
        self._in_flight += 1
        if self._late:
            self._due += 1
        self._pool.put(batch)
        return False

    def _soon(self) -> None:
        """The next batch should come to a device (called in an instance's thread)."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process is going away
            self._loop.call_soon_threadsafe(self._comes)

    def _comes(self) -> None:
        self._due -= 1
        if self._ready or len(self._queue):
            self._pump()

    def _woken(self) -> None:
        if self._queue.has_policy:
            self._expire(monotonic_ns())
        if not self._pump_planned:
            self._pump()

    def _expire(self, now: int) -> None:
        self._waiting.expire(now)
        self._signal_idle()

    def _finished(
        self,
        batch: Batch,
        outcome: Any,
        fault: RuntimeFault | None,
        times: Times,
        cpu_ns: int,
    ) -> None:
        """One batch came back from a thread (called in the loop)."""
        self._in_flight -= 1
        if self._inline is not None:
            self._inline.governor.ran_in_thread(cpu_ns)
        if self._ready or len(self._queue):
            self._pump()  # why first: the instance works on while we write the answers
        self._executor.settle(batch, outcome, fault, times)
        if self._idle is not None:
            self._signal_idle()

    def _signal_idle(self) -> None:
        if self._idle is not None and not self.busy:
            self._idle.set()
