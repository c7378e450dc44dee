"""What all requests of one ensemble have in common."""

from collections.abc import Callable
from typing import Any

from worker_runtime.core.scheduling.context import SchedulingContext
from worker_runtime.core.scheduling.ensemble.graph import EnsembleGraph
from worker_runtime.core.scheduling.ensemble.limits import StepLimiter
from worker_runtime.core.scheduling.ensemble.steps import StepCall
from worker_runtime.observability.metrics.latency import Histogram
from worker_runtime.types.signature import Signature


class Ensemble:
    """What all requests of one ensemble share. ``ended`` is told when a run is over."""

    def __init__(
        self,
        graph: EnsembleGraph,
        signature: Signature,
        context: SchedulingContext,
        *,
        decoupled: bool,
        max_inflight: int,
        ended: Callable[[Any], None],
        first_response: Histogram | None = None,
    ) -> None:
        self.graph = graph
        self.outputs = {spec.name: spec for spec in signature.outputs}
        self.batching = signature.max_batch_size > 0
        self.resolve = context.resolve
        self.decoupled = decoupled
        self.limiters: list[StepLimiter[StepCall]] = (
            [StepLimiter(max_inflight) for _ in graph.steps] if max_inflight else []
        )
        self.ended = ended
        self.first_response = first_response
