"""Executing in the event loop itself: cheaper than a hand-over while the model is tiny."""

from time import monotonic_ns, thread_time_ns

from worker_runtime.backends.base import Instance
from worker_runtime.core.execution.executor import Batch, BatchExecutor, Executor
from worker_runtime.core.scheduling.inline import InlineGovernor
from worker_runtime.types.request import InferRequest


class InlineRunner:
    """``governor.on`` says whether to use it."""

    def __init__(self, instance: Instance, executor: BatchExecutor) -> None:
        self.governor = InlineGovernor()
        self._instance = instance
        self._executor = executor
        self._quick = executor if type(executor) is Executor else None

    def run(self, batch: Batch) -> None:
        """Execute a batch and answer it."""
        if len(batch) == 1:
            self.run_alone(batch[0], monotonic_ns())
        else:
            self._run(batch)

    def run_alone(self, request: InferRequest, now: int) -> None:
        """``run`` for one request."""
        governor, quick = self.governor, self._quick
        if quick is None or governor.doubtful:
            self._run([request])
        else:
            governor.ran_inline(quick.serve_alone(self._instance, request, now))

    def _run(self, batch: Batch) -> None:
        governor = self.governor
        before = thread_time_ns() if governor.doubtful else 0
        outcome, fault, times = self._executor.attempt(self._instance, batch)
        cpu_ns = thread_time_ns() - before if before else 0
        governor.ran_inline(times[3] - times[0], cpu_ns)
        self._executor.settle(batch, outcome, fault, times)
