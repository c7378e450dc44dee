"""What all requests of one ensemble have in common."""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from worker_runtime.core.scheduling.context import SchedulingContext, ServedModel
from worker_runtime.core.scheduling.ensemble.graph import EnsembleGraph
from worker_runtime.core.scheduling.ensemble.limits import StepLimiter
from worker_runtime.core.scheduling.ensemble.steps import StepRecipe
from worker_runtime.observability.metrics.latency import Histogram
from worker_runtime.types.request import InferRequest
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
        self.limiters: list[StepLimiter[InferRequest]] = (
            [StepLimiter(max_inflight) for _ in graph.steps] if max_inflight else []
        )
        self.ended = ended
        self.first_response = first_response
        self.places = [graph.models.index((step.model, step.version)) for step in graph.steps]
        self._recipes: list[StepRecipe] = []
        self._made_for: list[ref[ServedModel]] = []

    def recipes(self, models: Sequence[ServedModel]) -> list[StepRecipe]:
        """One for each step, with ``models`` for those of the graph.

        They are remembered until a request finds another version of a model, and keep none alive.
        """
        versions = list(map(ref, models))
        if versions != self._made_for:
            self._made_for = versions
            self._recipes = [
                StepRecipe(step, models[at].signature)
                for step, at in zip(self.graph.steps, self.places, strict=True)
            ]
        return self._recipes
