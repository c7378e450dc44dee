"""Running a model right in the event loop: only while its executions stay tiny.

Handing a batch to a thread and back costs tens of microseconds of CPU. A model that computes for
less than that is quicker, and cheaper, in place. The governor is pure, fed with measured CPU times:
wall times would tell of a busy machine, not of the model. Models that wait are never offered.
"""

from time import monotonic_ns, thread_time_ns

from worker_runtime.backends.base import Instance
from worker_runtime.core.execution.executor import Batch, BatchExecutor, Executor
from worker_runtime.types.request import InferRequest

_TINY_NS = 100_000  # a few hand-overs
_SLOW_NS = 1_000_000
_SLOW_ALLOWED = 3  # in a row
_FIRST_STREAK = 32
_PENALTY = 8  # one slow run takes this many quick ones to make up for
_LONGEST_STREAK = 1 << 20


class InlineGovernor:
    """``on`` says whether to run inline. Each return to threads makes the next try rarer."""

    def __init__(self) -> None:
        self.on = False
        self.doubtful = False  # the last inline run took long: measure the CPU time of the next
        self._needed = _FIRST_STREAK
        self._streak = 0
        self._slow = 0

    def ran_in_thread(self, cpu_ns: int) -> None:
        """One batch took ``cpu_ns`` of its thread."""
        if cpu_ns > _TINY_NS:
            self._streak = max(0, self._streak - _PENALTY)
            return
        self._streak += 1
        self.on = self._streak >= self._needed

    def ran_inline(self, wall_ns: int, cpu_ns: int = 0) -> None:
        """One batch held the loop for ``wall_ns``; ``cpu_ns`` is given when ``doubtful`` asked.

        Asking costs a system call, so the wall time, which is never less, answers first.
        """
        self.doubtful = wall_ns > _SLOW_NS
        if not self.doubtful or 0 < cpu_ns <= _SLOW_NS:
            self._slow = 0
            return
        if not cpu_ns:
            return
        self._slow += 1
        if self._slow >= _SLOW_ALLOWED or cpu_ns > 10 * _SLOW_NS:
            self.on = False
            self._streak = self._slow = 0
            self._needed = min(2 * self._needed, _LONGEST_STREAK)


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
