"""Threads that execute batches: one per model instance, fed by one queue, answering to the loop."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import thread_time_ns
from typing import Any

from worker_runtime.core.execution.answers import Times
from worker_runtime.core.execution.executor import Batch, BatchExecutor
from worker_runtime.errors import RuntimeFault

logger = logging.getLogger(__name__)
_ELSEWHERE_S = 0.001
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
        self._name = name
        self._work: SimpleQueue[Batch | None] = SimpleQueue()
        self._executor = executor
        self._loop = loop
        self._done = done
        self._started = 0
        self._closing = False
        self.put = self._work.put
        self._workers = [self._start(instance) for instance in instances]

    def _start(self, instance: Any) -> "_Worker":
        worker = _Worker(instance)
        worker.thread = threading.Thread(
            target=self._serve, args=(worker,), name=f"{self._name}_{self._started}", daemon=True
        )
        self._started += 1
        worker.thread.start()
        return worker

    def resize(self, instances: Sequence[Any]) -> Callable[[], None]:
        """Go on with ``instances``: those already here stay, new ones start, the others end.

        What is given back waits for those that end (blocking: not in the event loop).
        """
        here = {id(worker.instance): worker for worker in self._workers}
        wanted = {id(instance) for instance in instances}
        leaving = [worker for worker in self._workers if id(worker.instance) not in wanted]
        self._workers = [here.get(id(item)) or self._start(item) for item in instances]
        self.size = len(instances)
        for worker in leaving:
            worker.leaving = True
            self._work.put(None)
        return lambda: _join(leaving, None)

    def close(self) -> None:
        """Let every thread end after the work that was put before."""
        self._closing = True
        for _ in self._workers:
            self._work.put(None)

    def join(self, timeout_s: float | None) -> None:
        """Wait for the threads (blocking: not in the event loop)."""
        _join(self._workers, timeout_s)

    def _serve(self, worker: "_Worker") -> None:
        take, run, done = self._work.get, self._executor.attempt, self._done
        answer, instance = self._loop.call_soon_threadsafe, worker.instance
        while True:
            batch = take()
            if batch is None:
                if worker.leaving or self._closing:
                    break
                self._work.put(None)  # it is for another one, who gets it sooner or later
                time.sleep(_ELSEWHERE_S)
                continue
            cpu = thread_time_ns()
            result = run(instance, batch)
            try:
                answer(done, batch, *result, thread_time_ns() - cpu)
            except RuntimeError:  # the loop is closed: the process is going away
                logger.debug("a batch finished after the event loop had ended")
            del batch, result


class _Worker:
    """A thread and the instance that it runs; ``leaving``: until it finds the time to end."""

    thread: threading.Thread

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        self.leaving = False


def _join(workers: Sequence[_Worker], timeout_s: float | None) -> None:
    for worker in workers:
        worker.thread.join(timeout_s)
