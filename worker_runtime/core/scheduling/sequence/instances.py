"""The instances of a model that batches sequences: a thread each, for batches meant for it.

Instances that are to leave drain first.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from worker_runtime.core.execution.answers import Times
from worker_runtime.core.execution.executor import Batch, BatchExecutor
from worker_runtime.core.execution.pool import InstancePool
from worker_runtime.core.scheduling.rate_limit import Member, RateLimiter
from worker_runtime.core.scheduling.sequence.table import SequenceTable
from worker_runtime.errors import RuntimeFault
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import InferRequest

# As a pool's, with the number of the instance first.
Finished = Callable[[int, Batch, Any, RuntimeFault | None, Times, int], None]
Gone = Callable[[Any], None]


class Instances:
    """Numbered without the passive ones. Called in the event loop, and calls ``done`` there."""

    def __init__(
        self,
        model: str,
        instances: Sequence[Any],
        places: Sequence[InstancePlace],
        executor: BatchExecutor,
        loop: asyncio.AbstractEventLoop,
        done: Finished,
        limiter: RateLimiter | None,
    ) -> None:
        self._model = model
        self._executor = executor
        self._loop = loop
        self._done = done
        self._limiter = limiter
        self._members: list[Member] = []
        self._staged: dict[int, Batch] = {}  # batches that wait for the limiter
        self._items: list[Any] = []
        self._pools: list[InstancePool] = []
        if len(places) != len(instances):
            places = [InstancePlace("")] * len(instances)
        for item, place in zip(instances, places, strict=True):
            if not place.passive:
                self.add(item, place)

    @property
    def count(self) -> int:
        """How many there have been: numbers are not used again."""
        return len(self._items)

    @property
    def numbers(self) -> set[int]:
        """Those that are here."""
        return {index for index, item in enumerate(self._items) if item is not None}

    def number(self, instance: Any) -> int:
        """-1: it is not here."""
        return next((n for n, item in enumerate(self._items) if item is instance), -1)

    def add(self, instance: Any, place: InstancePlace) -> int:
        index = len(self._items)
        if self._limiter is not None:
            self._members += self._limiter.join([place], self._granted)
        self._items.append(instance)
        self._pools.append(
            InstancePool(
                f"{self._model}_{index}",
                [instance],
                self._executor,
                self._loop,
                partial(self._finished, index),
            )
        )
        return index

    def end(self, index: int) -> Coroutine[Any, Any, Any]:
        """Let the thread of an instance end; awaited it gives back the instance, free of it."""
        item, self._items[index] = self._items[index], None
        if self._limiter is not None:
            self._limiter.leave([self._members[index]])
        self._pools[index].close()
        return self._ended(index, item)

    def run(self, index: int, batch: Batch) -> None:
        """Execute the batch, at once or when the limiter lets it."""
        if self._limiter is None:
            self._pools[index].put(batch)
            return
        self._staged[index] = batch
        self._limiter.stage(self._members[index])

    def close(self) -> list[InferRequest]:
        """Let the threads end after what they have; gives back what was not let to run."""
        left = [request for batch in self._staged.values() for request in batch]
        self._staged.clear()
        if self._limiter is not None:
            self._limiter.leave(self._members)
        for pool in self._pools:
            pool.close()
        return left

    def join(self, timeout_s: float) -> None:
        """Wait for the threads (blocking: not in the event loop)."""
        for pool in self._pools:
            pool.join(timeout_s)

    async def _ended(self, index: int, item: Any) -> Any:
        await self._loop.run_in_executor(None, self._pools[index].join, 5.0)
        return item

    def _granted(self, member: Member) -> None:
        index = self._members.index(member)
        self._pools[index].put(self._staged.pop(index))

    def _finished(self, index: int, *result: Any) -> None:
        if self._limiter is not None:
            self._limiter.release(self._members[index])
        self._done(index, *result)


class DrainingInstances:
    """Each is removed once its last sequence has ended, in the event loop."""

    def __init__(self, table: SequenceTable, instances: Instances) -> None:
        self._table = table
        self._instances = instances
        self._waiting: dict[int, Gone] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def retire_all_but(self, numbers: set[int], gone: Gone) -> None:
        """No sequence begins on others than these; ``gone`` is called with each removed one."""
        for index in self._instances.numbers - numbers - self._waiting.keys():
            self._table.retire(index)
            self._waiting[index] = gone

    def remove_finished(self, quiet: Callable[[int], bool]) -> None:
        """Remove those that have no sequence and, as ``quiet`` says, nothing else to do."""
        if not self._waiting:
            return
        for index in [n for n in self._waiting if self._table.left(n) and quiet(n)]:
            task = asyncio.get_running_loop().create_task(self._remove(index))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """The model is unloaded: nobody waits for sequences any more."""
        await asyncio.gather(*(self._remove(index) for index in list(self._waiting)), *self._tasks)

    def _remove(self, index: int) -> Any:
        gone = self._waiting.pop(index)
        ended = self._instances.end(index)

        async def wait() -> None:
            gone(await ended)

        return wait()
