"""The dynamic scheduler under `--rate-limit=execution_count`: a batch starts when it is granted.

When something is due a free instance is staged for it, and the limiter says when that instance may
run, looking at all models. What leaves is decided then: batches grow while they wait.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic_ns
from typing import Any

from worker_runtime.backends.base import LoadedModel
from worker_runtime.core.execution.answers import Times
from worker_runtime.core.execution.executor import Batch
from worker_runtime.core.execution.pool import InstancePool
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.scheduling.rate_limit import Member, RateLimiter
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import RuntimeFault
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.signature import Signature


class LimitedScheduler(DynamicScheduler):
    """``places`` say what each of the instances needs, in their order."""

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
        self._limiter = limiter
        self._members: list[Member] = []
        self._free: list[Member] = []
        self._lanes: dict[int, InstancePool] = {}
        self._staged = 0
        super().__init__(signature, config, loaded, loop, statistics, places)
        self._inline = None  # why: nothing may run that was not granted
        self._alone = self._grows = False
        active = [place for place in places if not place.passive]
        self._take_in(active, self._active(loaded.instances))

    def _make_pool(self, name: str, instances: Sequence[Any]) -> InstancePool:
        """Each instance has a lane of its own; the common pool stays empty."""
        return super()._make_pool(name, instances[:0])

    def _take_in(self, places: Sequence[InstancePlace], instances: Sequence[Any]) -> None:
        members = self._limiter.join(places, self._granted)
        for number, (member, instance) in enumerate(zip(members, instances, strict=True)):
            name = f"{self._name}_{number}"
            done = partial(self._came_back, member)
            self._lanes[id(member)] = InstancePool(
                name, [instance], self._executor, self._loop, done
            )
        self._members += members
        self._free += members
        self._slots = len(self._members)

    def close(self) -> None:
        super().close()
        self._limiter.leave(self._members)
        for lane in self._lanes.values():
            lane.close()

    def join(self, timeout_s: float) -> None:
        for lane in self._lanes.values():
            lane.join(timeout_s)

    def _pump(self) -> None:
        """Stage instances for what is due."""
        self._pump_planned = False
        if self._held_back():
            return
        queue = self._queue
        while len(queue) and self._free and self._staged < self._due():
            now = monotonic_ns()
            if queue.has_policy:
                self._expire(now)
            take, wake_ns, _ = self._policy.decide(queue, now)
            if not take:
                self._wake_at(wake_ns, now)
                return
            member = min(self._free, key=lambda free: free.weight)
            self._free.remove(member)
            self._staged += 1
            self._limiter.stage(member)
        if queue.has_policy and len(queue):
            self._wake_at(0, monotonic_ns())

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
            self._wake_at(wake_ns, now)
            return
        batch = self._queue.take(take)
        self._admit(batch)
        self._in_flight += 1
        self._lanes[id(member)].put(batch)
        if len(self._queue) and not self._pump_planned:
            self._plan_pump()

    def _came_back(
        self,
        member: Member,
        batch: Batch,
        outcome: Any,
        fault: RuntimeFault | None,
        times: Times,
        cpu_ns: int,
    ) -> None:
        self._free.append(member)
        self._limiter.release(member)
        self._finished(batch, outcome, fault, times, cpu_ns)
