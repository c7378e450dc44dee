"""Instances that drain: each is removed once its last sequence has ended, in the event loop."""

import asyncio
from collections.abc import Callable
from typing import Any

from worker_runtime.core.scheduling.sequence.instances import Instances
from worker_runtime.core.scheduling.sequence.table import SequenceTable

Gone = Callable[[Any], None]


class DrainingInstances:
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
