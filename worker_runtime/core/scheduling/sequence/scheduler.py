"""The loop part of a model that batches sequences: requests in, batches out to every instance.

Each instance has a thread of its own and at most one batch in flight: a slot belongs to it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Any

from worker_runtime.backends.base import LoadedModel
from worker_runtime.core.execution.answers import Times
from worker_runtime.core.execution.choice import executor_for
from worker_runtime.core.execution.executor import Batch
from worker_runtime.core.execution.requests import RequestExecutor
from worker_runtime.core.execution.sequence_tensors import Controls, States
from worker_runtime.core.scheduling.base import NO_DELAYS, Delays, Scheduler
from worker_runtime.core.scheduling.batching import BatchPolicy
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.core.scheduling.sequence.batchers import (
    DirectBatcher,
    OldestBatcher,
    SequenceBatcher,
    Slots,
)
from worker_runtime.core.scheduling.sequence.config import SequenceConfig
from worker_runtime.core.scheduling.sequence.entries import Entry, EntryFactory, SequenceAnswers
from worker_runtime.core.scheduling.sequence.instances import DrainingInstances, Instances
from worker_runtime.core.scheduling.sequence.table import SequenceTable
from worker_runtime.core.scheduling.waiting import Alarm
from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import (
    Cancelled,
    InvalidArgument,
    QueueFull,
    QueueTimeout,
    RuntimeFault,
    Unavailable,
)
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import InferRequest, SequencePart
from worker_runtime.types.signature import Signature

logger = logging.getLogger(__name__)


class SequenceScheduler(Scheduler):
    goes_on = True

    def __init__(
        self,
        signature: Signature,
        config: SequenceConfig,
        loaded: LoadedModel,
        loop: asyncio.AbstractEventLoop,
        statistics: Statistics,
        places: Sequence[InstancePlace] = (),
        limiter: RateLimiter | None = None,
        longest_wait_ns: int = 0,
        delays: Delays = NO_DELAYS,
    ) -> None:
        self.statistics = statistics
        self._model = signature.model
        self._loop = loop
        self._iterative = config.iterative
        batched = signature.max_batch_size > 0
        self._controls = Controls(config.controls, batched=batched)
        self._factory = EntryFactory(signature, self._controls, States(config.states))
        self._answers = SequenceAnswers(statistics)
        self._executor = executor_for(
            self._factory.signature,
            loaded,
            self._answers,
            loop,
            self._signal_idle,
            decoupled=config.decoupled,
            tensors=config.tensors,
        )
        if config.iterative and isinstance(self._executor, RequestExecutor):
            self._executor.again = self._again
        self._instances = Instances(
            signature.model, loaded.instances, places, self._executor, loop, self._finished, limiter
        )
        count = self._instances.count
        self._table = SequenceTable(
            signature.model,
            count,
            config.slots,
            config.idle_ns,
            config.backlog_limit,
            longest_wait_ns,
        )
        self._config = config
        self._ragged = frozenset(spec.name for spec in signature.inputs if spec.ragged)
        self._batchers: list[SequenceBatcher] = [self._new_batcher(index) for index in range(count)]
        self._in_flight: list[list[Entry]] = [[] for _ in self._batchers]
        self._delays = delays
        self._held = delays != NO_DELAYS
        self._planned: set[int] = set()
        self._alarm = Alarm(loop, self._woken)
        self._next_id = 1
        self._draining = DrainingInstances(self._table, self._instances)
        self._idle: asyncio.Event | None = None
        self._ended: asyncio.Event | None = None

    @property
    def pending(self) -> int:
        return self._table.waiting + sum(batcher.waiting for batcher in self._batchers)

    @property
    def busy(self) -> bool:
        return bool(any(self._in_flight) or self.pending or self._executor.open)

    @property
    def live_sequences(self) -> int:
        """Sequences that have begun and not ended."""
        return self._table.live

    def submit(self, request: InferRequest) -> None:
        """Raises InvalidArgument, QueueFull or Unavailable; else its sink is called later."""
        now = request.queued_ns = monotonic_ns()
        self._check(request)
        try:
            self._admit(request, now)
        except QueueFull as error:
            self.statistics.failed(FailureReason.REJECTED, now - request.arrived_ns)
            raise error.for_request(request.id) from None

    def cancel(self, request: InferRequest) -> bool:
        """End the sequence of a waiting request: what comes behind it in its line fails too."""
        request.cancelled = True
        now = monotonic_ns()
        gone = self._table.withdraw(request)
        for index, batcher in enumerate(self._batchers):
            if gone:
                break
            gone = batcher.withdraw(request, now)
            self._plan(index)
        self._factory.cancel(request)
        for item in gone:
            item.cancelled = True
            fault = Cancelled("the request was cancelled")
            self._answers.fail(item, fault, FailureReason.CANCELED)
        self._signal_idle()
        return bool(gone)

    def refuse_new(self) -> None:
        """From now on only sequences that have begun go on."""
        self._table.closed = True

    async def finish_sequences(self) -> None:
        """Refuse new sequences and wait until those that have begun are at an end, or idle."""
        self.refuse_new()
        if self._table.live:
            self._ended = asyncio.Event()
            await self._ended.wait()

    async def drain(self) -> None:
        self.refuse_new()
        if self.busy:
            self._idle = asyncio.Event()
            await self._idle.wait()
        self.close()
        await self._loop.run_in_executor(None, self._instances.join, 5.0)
        await self._draining.finish()

    def close(self) -> None:
        self.refuse_new()
        self._alarm.stop()
        waiting = self._table.clear()
        for batcher in self._batchers:
            waiting += batcher.clear()
        waiting += self._instances.close()
        for request in waiting:
            self._answers.fail(request, Unavailable("the model was unloaded"), FailureReason.OTHER)

    @property
    def resizable(self) -> bool:
        return True

    def resize(
        self,
        instances: Sequence[Any],
        places: Sequence[InstancePlace],
        gone: Callable[[Any], None],
    ) -> None:
        """Begin sequences on ``instances`` from now on.

        Others leave when their last sequence has ended; ``gone`` is then called with each.
        """
        now = monotonic_ns()
        for instance, place in zip(instances, places, strict=True):
            if self._instances.number(instance) < 0:
                index = self._instances.add(instance, place)
                self._batchers.append(self._new_batcher(index))
                self._in_flight.append([])
                for seat, requests in self._table.add(index, now):
                    for request in requests:
                        self._batchers[seat.instance].push(seat.slot, request, now)
                    self._plan(seat.instance)
        self._draining.retire_all_but({self._instances.number(item) for item in instances}, gone)
        self._signal_idle()

    # --- in ------------------------------------------------------------------------------------

    def _check(self, request: InferRequest) -> None:
        """What the scheduler asks of every request. Raises InvalidArgument."""
        if request.plan.rows > 1:
            raise InvalidArgument(
                f"inference request to model '{self._model}' must specify batch-size 1 due to "
                "requirements of sequence batcher"
            )
        if request.sequence is None:
            if self._iterative:
                request.sequence = SequencePart(self._next_id, start=True)
                self._next_id += 1
            return
        expected = self._controls.id_type
        text = isinstance(request.sequence.id, str)
        if expected is not None and text is not (not expected.item_size):
            raise InvalidArgument(
                f"sequence batching control '{self._controls.id_name}' data-type is "
                f"'{'BYTES' if text else 'UINT64'}', but model '{self._model}' expects "
                f"'{expected.name}'"
            ).for_request(request.id)

    def _admit(self, request: InferRequest, now: int) -> None:
        seat, conflict = self._table.admit(request, now)
        if conflict and request.sequence is not None:
            logger.warning(
                "sequence %s for model '%s' has a conflict. The previous sequence did not end "
                "before this sequence start. Previous sequence will be terminated early.",
                request.sequence.id,
                self._model,
            )
        if seat is not None:
            self._batchers[seat.instance].push(seat.slot, request, now)
            self._plan(seat.instance)
        elif self._held:
            self._plan(0)
        self._alarm.at(self._table.next_check(), now)
        self._signal_idle()

    # --- out -----------------------------------------------------------------------------------

    def _plan(self, index: int) -> None:
        # why not at once: what one turn of the loop brings in leaves as one batch.
        if index not in self._planned:
            self._planned.add(index)
            self._loop.call_soon(self._pump, index)

    def _pump(self, index: int) -> None:
        """Give the instance its next batch if it is free and there is one."""
        self._planned.discard(index)
        if self._held and not self._let_go():
            return
        batcher, now = self._batchers[index], monotonic_ns()
        if self._in_flight[index] or not batcher.waiting:
            return
        entries, wake_ns = batcher.decide(now)
        if entries:
            self._in_flight[index] = entries
            self._instances.run(index, self._factory.turns(entries))
            wake_ns = self._table.next_check()
        self._alarm.at(wake_ns, now)

    def _let_go(self) -> bool:
        """Whether enough has come for the first batch."""
        queued = sum(batcher.queued for batcher in self._batchers)
        if queued < self._delays.queued or self._table.waiting < self._delays.backlog:
            return False
        self._held = False
        for index in range(len(self._batchers)):
            self._plan(index)
        return True

    def _finished(
        self,
        index: int,
        batch: Batch,
        outcome: Any,
        fault: RuntimeFault | None,
        times: Times,
        cpu_ns: int,  # noqa: ARG002 # what every pool reports
    ) -> None:
        """A batch of instance ``index`` came back (called in the loop)."""
        entries, self._in_flight[index] = self._in_flight[index], []
        # why before the next batch: it may continue from the states that this one left.
        self._executor.settle(batch, outcome, fault, times)
        now = monotonic_ns()
        self._batchers[index].finished(entries, now)
        if self._iterative:
            for entry in entries:
                self._iterate(index, entry, now)
        self._pump(index)
        self._signal_idle()

    def _again(self, turn: InferRequest) -> None:
        """The model wants to see a request once more (called while its batch settles)."""
        if isinstance(turn.sink, Entry):
            turn.sink.again = True

    def _iterate(self, index: int, entry: Entry, now: int) -> None:
        """Send a request round again, or end the sequence that it was."""
        request, part = entry.request, entry.request.sequence
        if not entry.ready or part is None:
            return
        if entry.again:
            entry.end()
        if entry.again and request.cancelled:  # the sequence ends here, below
            fault: RuntimeFault = Cancelled("the request was cancelled")
            self._answers.fail(request, fault, FailureReason.CANCELED)
        elif entry.again:
            request.sequence = SequencePart(part.id)
            request.queued_ns = now
            try:
                self._admit(request, now)
            except RuntimeFault as error:  # it took too long: its sequence was idle
                self._answers.fail(request, error, FailureReason.OTHER)
            return
        seat = self._table.seat_of(part.id)
        if seat == (entry.slot, index) and not part.end:
            self._table.forget(part.id, seat)
            self._batchers[index].push(entry.slot, None, now)

    def _new_batcher(self, index: int) -> SequenceBatcher:
        config = self._config
        slots = Slots(self._table, index, config.slots, self._factory.fresh_state)
        if config.oldest is not None:
            return OldestBatcher(slots, BatchPolicy(config.oldest))
        return DirectBatcher(
            slots, delay_ns=config.delay_ns, utilization=config.utilization, ragged=self._ragged
        )

    # --- time ----------------------------------------------------------------------------------

    def _woken(self) -> None:
        now = monotonic_ns()
        for request in self._table.expired(now):
            fault = QueueTimeout("timeout of the corresponding sequence has been expired")
            self._answers.fail(request, fault, FailureReason.REJECTED)
        for seat in self._table.idle(now):
            self._batchers[seat.instance].push(seat.slot, None, now)
        for index in range(len(self._batchers)):
            self._pump(index)
        self._alarm.at(self._table.next_check(), now)
        self._signal_idle()

    def _quiet(self, index: int) -> bool:
        return not (self._in_flight[index] or self._batchers[index].waiting)

    def _signal_idle(self) -> None:
        self._draining.remove_finished(self._quiet)
        if self._idle is not None and not self.busy:
            self._idle.set()
        if self._ended is not None and not self._table.live:
            self._ended.set()
