"""The dynamic batcher under `--rate-limit=execution_count`: a batch starts when it is granted.

When something is due a free instance is staged for it, and the limiter says when that instance may
run, looking at all models. What leaves is decided then: batches grow while they wait.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic_ns
from typing import Any

from worker_runtime.backends.base import LoadedModel
from worker_runtime.core.execution.answers import Answers, Times
from worker_runtime.core.execution.choice import executor_for
from worker_runtime.core.execution.executor import Batch
from worker_runtime.core.execution.pool import InstancePool
from worker_runtime.core.scheduling.base import Scheduler
from worker_runtime.core.scheduling.batching import BatchPolicy
from worker_runtime.core.scheduling.dynamic import SchedulerConfig
from worker_runtime.core.scheduling.ordering import Ordering
from worker_runtime.core.scheduling.rate_limit import Member, RateLimiter
from worker_runtime.core.scheduling.waiting import STOPPED, Waiting
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import QueueFull, RuntimeFault, Unavailable
from worker_runtime.types.instances import InstancePlace, active
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature


class LimitedScheduler(Scheduler):
    """``places`` say what each of the instances needs, in their order.

    Each instance has a thread of its own, and nothing runs that was not granted.
    """

    def __init__(
        self,
        signature: Signature,
        config: SchedulerConfig,
        loaded: LoadedModel,
        loop: asyncio.AbstractEventLoop,
        statistics: Statistics,
        places: Sequence[InstancePlace],
        limiter: RateLimiter,
    ) -> None:
        self.statistics = statistics
        self._loop = loop
        self._limiter = limiter
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
        self._ordering = Ordering() if config.preserve_ordering else None
        self._first_at = config.first_at
        self._model = signature.model
        self._started = 0
        self._free: list[Member] = []
        self._threads: dict[Member, InstancePool] = {}
        self._instances: dict[Member, Any] = {}
        self._add(active(places, loaded.instances), [p for p in places if not p.passive])
        self._staged = 0
        self._in_flight = 0
        self._pump_planned = False
        self._idle: asyncio.Event | None = None
        self._closed = False

    def _add(self, instances: Sequence[Any], places: Sequence[InstancePlace]) -> None:
        members = self._limiter.join(places, self._granted)
        for member, instance in zip(members, instances, strict=True):
            self._threads[member] = InstancePool(
                f"{self._model}_{self._started}",
                [instance],
                self._executor,
                self._loop,
                partial(self._finished, member),
            )
            self._started += 1
            self._instances[member] = instance
        self._free += members

    @property
    def pending(self) -> int:
        return len(self._queue)

    @property
    def busy(self) -> bool:
        return bool(self._in_flight or len(self._queue) or self._executor.open)

    def submit(self, request: InferRequest) -> None:
        """Take a request in. Raises QueueFull or Unavailable; else its sink is called later."""
        if self._closed:
            raise Unavailable(STOPPED).for_request(request.id)
        now = request.queued_ns = monotonic_ns()
        try:
            self._queue.push(request, now, request.timeout_ns)
        except QueueFull as error:
            raise self._waiting.refused(request, error, now) from None
        self._plan_pump()

    def cancel(self, request: InferRequest) -> bool:
        """Drop a waiting request; False when it is executing or done (its answer is ignored)."""
        request.cancelled = True
        if not self._queue.remove(request):
            return False
        self._waiting.cancelled(request)
        self._signal_idle()
        return True

    @property
    def resizable(self) -> bool:
        return True

    def resize(
        self,
        instances: Sequence[Any],
        places: Sequence[InstancePlace],
        gone: Callable[[Any], None],  # noqa: ARG002 # none takes longer than its batch
    ) -> Callable[[], None]:
        here = {id(instance): member for member, instance in self._instances.items()}
        wanted = {id(instance) for instance in instances}
        ended = [self._remove(member) for key, member in here.items() if key not in wanted]
        new = [pair for pair in zip(instances, places, strict=True) if id(pair[0]) not in here]
        self._add([instance for instance, _ in new], [place for _, place in new])
        self._plan_pump()

        def join() -> None:
            for thread in ended:
                thread.join(None)

        return join

    def _remove(self, member: Member) -> InstancePool:
        """Let an instance go, behind the batch that it may have; gives back its thread."""
        self._staged -= member.staged
        self._limiter.leave([member])
        if member in self._free:
            self._free.remove(member)
        del self._instances[member]
        thread = self._threads.pop(member)
        thread.close()
        return thread

    async def drain(self) -> None:
        """Refuse new requests and wait until the last answer is out, then end the threads."""
        self._closed = True
        if self.busy:
            self._idle = asyncio.Event()
            self._pump()  # why: it may have waited for more to come
            await self._idle.wait()
        self.close()
        await self._loop.run_in_executor(None, self._join, 5.0)

    def close(self) -> None:
        """End at once: waiting requests fail, executing ones finish behind our back."""
        self._closed = True
        self._waiting.close()
        self._limiter.leave(list(self._threads))
        for thread in self._threads.values():
            thread.close()

    def _join(self, timeout_s: float) -> None:
        for thread in self._threads.values():
            thread.join(timeout_s)

    def _plan_pump(self) -> None:
        if not self._pump_planned:
            self._pump_planned = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Stage instances for what is due."""
        self._pump_planned = False
        queue = self._queue
        if len(queue) < self._first_at and not self._closed:
            return
        self._first_at = 0
        while len(queue) and self._free and self._staged < self._due():
            now = monotonic_ns()
            if queue.has_policy:
                self._expire(now)
            take, wake_ns, _ = self._policy.decide(queue, now)
            if not take:
                self._waiting.wake_at(wake_ns, now)
                return
            member = min(self._free, key=lambda free: free.weight)
            self._free.remove(member)
            self._staged += 1
            self._limiter.stage(member)
        if queue.has_policy and len(queue):
            self._waiting.wake_at(0, monotonic_ns())

    def _due(self) -> int:
        """How many instances may be staged at once: without batching one for each request."""
        return 1 if self._policy.dynamic else len(self._queue)

    def _granted(self, member: Member) -> None:
        """The instance's turn has come (called in the loop)."""
        self._staged -= 1
        now = monotonic_ns()
        self._expire(now)
        take, wake_ns, _ = self._policy.decide(self._queue, now)
        if not take:  # cancelled or expired meanwhile
            self._limiter.give_back(member)
            self._free.append(member)
            self._waiting.wake_at(wake_ns, now)
            return
        batch = self._queue.take(take)
        if self._ordering is not None:
            for request in batch:
                self._ordering.admit(request)
        self._in_flight += 1
        self._threads[member].put(batch)
        if len(self._queue):
            self._plan_pump()

    def _finished(
        self,
        member: Member,
        batch: Batch,
        outcome: Any,
        fault: RuntimeFault | None,
        times: Times,
        cpu_ns: int,  # noqa: ARG002 # what every pool reports
    ) -> None:
        """One batch came back from its thread (called in the loop)."""
        if member in self._threads:
            self._free.append(member)
        self._limiter.release(member)
        self._in_flight -= 1
        if len(self._queue):
            self._pump()  # why first: the instance works on while we write the answers
        self._executor.settle(batch, outcome, fault, times)
        self._signal_idle()

    def _woken(self) -> None:
        self._expire(monotonic_ns())
        if not self._pump_planned:
            self._pump()

    def _expire(self, now: int) -> None:
        self._waiting.expire(now)
        self._signal_idle()

    def _signal_idle(self) -> None:
        if self._idle is not None and not self.busy:
            self._idle.set()
