"""Threads that execute batches: one per model instance, fed by one queue, answering to the loop."""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import thread_time_ns
from typing import Any

from worker_runtime.core.execution.answers import Times
from worker_runtime.core.execution.executor import Batch, BatchExecutor
from worker_runtime.errors import RuntimeFault

logger = logging.getLogger(__name__)
# Called in the event loop with the batch, what the executor made of it (outcome, fault, phase
# times) and the CPU time (ns) that the thread spent on it.
Done = Callable[[Batch, Any, RuntimeFault | None, Times, int], None]


class InstancePool:
    """The instances of one model version. ``put`` and ``close`` are called in the event loop."""

    def __init__(
        self,
        name: str,
        instances: Sequence[Any],
        executor: BatchExecutor,
        loop: asyncio.AbstractEventLoop,
        done: Done,
    ) -> None:
        self.size = len(instances)
        self._work: SimpleQueue[Batch | None] = SimpleQueue()
        self._executor = executor
        self._loop = loop
        self._done = done
        self._threads = [
            threading.Thread(target=self._serve, args=(instance,), name=f"{name}_{i}", daemon=True)
            for i, instance in enumerate(instances)
        ]
        self.put = self._work.put
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Let every thread end after the work that was put before."""
        for _ in self._threads:
            self._work.put(None)

    def join(self, timeout_s: float) -> None:
        """Wait for the threads (blocking: not in the event loop)."""
        for thread in self._threads:
            thread.join(timeout_s)

    def _serve(self, instance: Any) -> None:
        take, run, done = self._work.get, self._executor.attempt, self._done
        answer = self._loop.call_soon_threadsafe
        while (batch := take()) is not None:
            cpu = thread_time_ns()
            result = run(instance, batch)
            try:
                answer(done, batch, *result, thread_time_ns() - cpu)
            except RuntimeError:  # the loop is closed: the process is going away
                logger.debug("a batch finished after the event loop had ended")
            del batch, result
