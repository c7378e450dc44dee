"""The scheduler of an ensemble: it has no queue and no instances, its steps have those."""

import asyncio
from time import monotonic_ns, time_ns
from typing import Any

from worker_runtime.core.scheduling.base import Scheduler, SchedulingContext
from worker_runtime.core.scheduling.ensemble.graph import EnsembleGraph
from worker_runtime.core.scheduling.ensemble.run import EnsembleRun
from worker_runtime.core.scheduling.ensemble.steps import Ensemble
from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import Unavailable
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature


class EnsembleScheduler(Scheduler):
    pending = 0

    def __init__(
        self, config: Any, signature: Signature, context: SchedulingContext, statistics: Statistics
    ) -> None:
        self.statistics = statistics
        self._ensemble = Ensemble(
            EnsembleGraph(config),
            signature,
            context,
            decoupled=config.model_transaction_policy.decoupled,
            max_inflight=getattr(config.ensemble_scheduling, "max_inflight_requests", 0),
            ended=self._ended,
            first_response=statistics.first_response,
        )
        self._runs: dict[int, EnsembleRun] = {}
        self._closed = False
        self._idle: asyncio.Event | None = None

    @property
    def on_device(self) -> bool:
        """Its steps bring what their models want on the host."""
        return True

    @property
    def busy(self) -> bool:
        return bool(self._runs)

    def submit(self, request: InferRequest) -> None:
        """Start a request's steps. Raises Unavailable once the ensemble is being unloaded."""
        if self._closed:
            raise Unavailable("the model is being unloaded")
        request.queued_ns = monotonic_ns()
        run = EnsembleRun(self._ensemble, request)
        self._runs[id(request)] = run
        run.start()

    def cancel(self, request: InferRequest) -> bool:
        """Drop what waits at the steps; those that execute end first, and nothing follows them."""
        run = self._runs.get(id(request))
        if run is None:
            request.cancelled = True
            return False
        return run.cancel()

    async def drain(self) -> None:
        self._closed = True
        if self._runs:
            self._idle = asyncio.Event()
            await self._idle.wait()

    def close(self) -> None:
        self._closed = True
        for run in list(self._runs.values()):
            run.abandon(Unavailable("the model was unloaded"))

    def _ended(self, run: EnsembleRun) -> None:
        request = run.request
        self._runs.pop(id(request), None)
        now = monotonic_ns()
        if run.error is not None:
            # why twice: as in Triton an ensemble counts its step's failure, and its own.
            for _ in range(2):
                self.statistics.failed(FailureReason.OTHER, now - request.arrived_ns)
        else:
            self._count(run, now)
        if self._idle is not None and not self._runs:
            self._idle.set()

    def _count(self, run: EnsembleRun, now: int) -> None:
        """A success: its phases are the sums over its steps, its duration is what passed."""
        request, start = run.request, run.started_ns
        fed = start + run.spent[0]
        computed = fed + run.spent[1]
        end = computed + run.spent[2]
        request.timings = (start, fed, computed, end)
        self.statistics.executed_alone(
            request.plan.rows,
            request.arrived_ns + end - now,
            request.queued_ns,
            request.timings,
            time_ns() // 1_000_000,
        )
