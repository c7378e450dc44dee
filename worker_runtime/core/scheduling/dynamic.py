"""The loop part of one model version: requests in, batches to instances, answers out.

Everything here runs in the event loop. The policy decides, the queue holds, the pool executes;
there is no task, future or lock per request.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic_ns, thread_time_ns
from typing import Any

from worker_runtime.backends.base import Instance, LoadedModel
from worker_runtime.core.execution.answers import Answers, Times
from worker_runtime.core.execution.choice import executor_for
from worker_runtime.core.execution.executor import Batch, Executor
from worker_runtime.core.execution.pool import InstancePool
from worker_runtime.core.scheduling.batching import BatchingConfig, BatchPolicy, Payload
from worker_runtime.core.scheduling.delays import delays
from worker_runtime.core.scheduling.inline import InlineGovernor
from worker_runtime.core.scheduling.ordering import Ordering
from worker_runtime.core.scheduling.queue import QueueConfig, RequestQueue
from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import Cancelled, QueueFull, QueueTimeout, RuntimeFault, Unavailable
from worker_runtime.types.batch_tensors import BatchTensors
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature

STOPPED = "Server is stopping, scheduler for model has stopped accepting new inference requests"
_HERE_PER_TURN = 32
_PAYLOADS_PER_INSTANCE = 2  # that may wait while all instances are busy


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """``ahead`` batches may wait behind the instances, so that a thread never runs dry.

    ``decoupled`` models may answer a request any number of times, and after its batch is over.
    """

    batching: BatchingConfig = field(default_factory=BatchingConfig)
    queue: QueueConfig = field(default_factory=QueueConfig)
    preserve_ordering: bool = False
    ahead: int = 0
    decoupled: bool = False
    tensors: BatchTensors | None = None


class DynamicScheduler:
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
        self._name = signature.model
        self._loop = loop
        self._places = places
        self._queue = RequestQueue(config.queue)
        self._policy = BatchPolicy(config.batching)
        self._answers = Answers(statistics)
        self._executor = executor_for(
            signature,
            loaded,
            self._answers,
            loop,
            self._signal_idle,
            decoupled=config.decoupled,
            tensors=config.tensors,
        )
        self._quick = self._executor if type(self._executor) is Executor else None
        self._pool = self._make_pool(signature.model, self._active(loaded.instances))
        self._inline = loaded.inline
        self._alone = not (config.batching.dynamic or config.preserve_ordering)
        self._governor = InlineGovernor()
        self._ahead = config.ahead
        self._slots = self._pool.size + config.ahead
        self._in_flight = 0
        self._pump_planned = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0
        self._ordering = Ordering() if config.preserve_ordering else None
        self._ready: deque[Payload] = deque()  # due, but every instance is busy; the last may grow
        self._grows = self._policy.grows and not self._queue.has_policy
        self._hold_until = delays().queued if config.batching.dynamic else 0
        self._idle: asyncio.Event | None = None
        self._closed = False

    def _make_pool(self, name: str, instances: Sequence[Any]) -> InstancePool:
        return InstancePool(name, instances, self._executor, self._loop, self._finished)

    def _active(self, instances: Sequence[Any]) -> list[Any]:
        """Those that take requests: not the passive ones, where places are known."""
        if len(self._places) != len(instances):
            return list(instances)
        pairs = zip(self._places, instances, strict=True)
        return [instance for place, instance in pairs if not place.passive]

    @property
    def pending(self) -> int:
        """Requests that wait and do not execute yet."""
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
        # A tiny model that does not batch has nothing to wait for.
        if self._alone and self._governor.on and self._inline is not None and not self._queue:
            self._run_alone(request, self._inline, now)
            return
        try:
            self._queue.push(request, now, request.timeout_ns)
        except QueueFull as error:
            self.statistics.failed(FailureReason.REJECTED, now - request.arrived_ns)
            raise error.for_request(request.id) from None
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
        self._answers.fail(request, Cancelled("the request was cancelled"), FailureReason.CANCELED)
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

    def resize(self, instances: Sequence[Any]) -> Callable[[], None]:
        """Execute on ``instances`` from now on; what is given back waits for those that leave."""
        ended = self._pool.resize(instances)
        self._slots = self._pool.size + self._ahead
        if (self._ready or len(self._queue)) and not self._pump_planned:
            self._plan_pump()
        return ended

    async def drain(self) -> None:
        """Refuse new requests and wait until the last answer is out, then end the threads."""
        self._closed = True
        if self.busy:
            self._idle = asyncio.Event()
            if self._hold_until:
                self._pump()
            await self._idle.wait()
        self.close()
        await self._loop.run_in_executor(None, self.join, 5.0)

    def join(self, timeout_s: float) -> None:
        """Wait for the threads to end (blocking: not in the event loop)."""
        self._pool.join(timeout_s)

    def close(self) -> None:
        """End at once: waiting requests fail, executing ones finish behind our back."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        waiting = [request for payload in self._ready for request in payload.requests]
        self._ready.clear()
        for request in (*waiting, *self._queue.clear()):
            self._answers.fail(request, Unavailable("the model was unloaded"), FailureReason.OTHER)
        self._pool.close()

    def _plan_pump(self) -> None:
        self._pump_planned = True
        self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Hand batches to instances while there are free slots and the policy agrees."""
        self._pump_planned = False
        if self._held_back():
            return
        if self._grows:
            self._pump_payloads()
            return
        queue, here = self._queue, 0
        while len(queue) and self._in_flight < self._slots:
            now = monotonic_ns()
            if queue.has_policy:
                self._expire(now)
            take, wake_ns, _ = self._policy.decide(queue, now)
            if not take:
                self._wake_at(wake_ns, now)
                return
            if self._start(queue.take(take)):
                here += 1
                if here >= _HERE_PER_TURN and len(queue):
                    self._plan_pump()  # why: other connections want their turn of the loop
                    return
        if queue.has_policy and len(queue):
            self._wake_at(0, monotonic_ns())

    def _pump_payloads(self) -> None:
        """The same through payloads, which are made and grow whether or not an instance is free."""
        now, ready = monotonic_ns(), self._ready
        if self._queue.has_policy:  # a client's deadline may have come with its request
            self._expire(now)
        limit = _PAYLOADS_PER_INSTANCE * self._pool.size
        wake_ns = self._policy.gather(self._queue, ready, limit, now)
        while ready and self._in_flight < self._slots:
            self._start(self._policy.pop(ready))
            wake_ns = self._policy.gather(self._queue, ready, limit, now)
        self._wake_at(wake_ns, now)

    def _held_back(self) -> bool:
        """Triton's own tests let a queue fill before anything leaves it."""
        if self._hold_until and len(self._queue) < self._hold_until and not self._closed:
            return True
        self._hold_until = 0
        return False

    def _start(self, batch: Batch) -> bool:
        """Execute a batch; True when that happened here and now."""
        self._admit(batch)
        if self._governor.on and self._inline is not None:
            if len(batch) == 1:
                self._run_alone(batch[0], self._inline, monotonic_ns())
            else:
                self._run_here(batch, self._inline)
            if self._idle is not None:
                self._signal_idle()  # a drain waits, and no thread comes back to tell it
            return True
        self._in_flight += 1
        self._pool.put(batch)
        return False

    def _admit(self, batch: Batch) -> None:
        if self._ordering is not None:
            for request in batch:
                self._ordering.admit(request)

    def _wake_at(self, wake_ns: int, now: int) -> None:
        """Look again at the policy's time or the next deadline, whichever is first."""
        deadline = self._queue.next_deadline()
        if deadline and (not wake_ns or deadline < wake_ns):
            wake_ns = deadline
        if not wake_ns or (self._timer is not None and self._timer_ns <= wake_ns):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ns = wake_ns
        self._timer = self._loop.call_later(max(0, wake_ns - now) / 1e9, self._woken)

    def _woken(self) -> None:
        self._timer = None
        if self._queue.has_policy:
            self._expire(monotonic_ns())
        if not self._pump_planned:
            self._pump()

    def _expire(self, now: int) -> None:
        for request in self._queue.sweep(now):
            fault = QueueTimeout("Request timeout expired")
            self._answers.fail(request, fault, FailureReason.REJECTED)
        self._signal_idle()

    def _run_here(self, batch: Batch, instance: Instance) -> None:
        """Execute and answer in the loop: cheaper than a hand-over while the model is tiny."""
        governor = self._governor
        before = thread_time_ns() if governor.doubtful else 0
        outcome, fault, times = self._executor.attempt(instance, batch)
        cpu_ns = thread_time_ns() - before if before else 0
        governor.ran_inline(times[3] - times[0], cpu_ns)
        self._executor.settle(batch, outcome, fault, times)

    def _run_alone(self, request: InferRequest, instance: Instance, now: int) -> None:
        """``_run_here`` for one request."""
        governor, quick = self._governor, self._quick
        if quick is None or governor.doubtful:
            self._run_here([request], instance)
        else:
            governor.ran_inline(quick.serve_alone(instance, request, now))

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
            self._governor.ran_in_thread(cpu_ns)
        if self._ready or len(self._queue):
            self._pump()  # why first: the instance works on while we write the answers
        self._executor.settle(batch, outcome, fault, times)
        if self._idle is not None:
            self._signal_idle()

    def _signal_idle(self) -> None:
        if self._idle is not None and not self.busy:
            self._idle.set()
