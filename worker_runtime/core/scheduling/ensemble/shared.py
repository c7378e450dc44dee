"""What all requests of one ensemble have in common, the limits of its steps included."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar
from weakref import ref

from worker_runtime.core.scheduling.base import SchedulingContext, ServedModel
from worker_runtime.core.scheduling.ensemble.graph import EnsembleGraph
from worker_runtime.core.scheduling.ensemble.steps import StepRecipe
from worker_runtime.observability.metrics.latency import Histogram
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature

T = TypeVar("T")


class StepLimiter(Generic[T]):
    """``max_inflight_requests``: slots for one step, over all requests; 0 means no limit.

    Who gets none waits in line. Pure.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._line: deque[T] = deque()

    def acquire(self, waiter: T) -> bool:
        """True when there is a slot now; else ``release`` will hand ``waiter`` out later."""
        if self._limit and self._taken >= self._limit:
            self._line.append(waiter)
            return False
        self._taken += 1
        return True

    def release(self) -> T | None:
        """Give a slot back; whoever is returned has it now."""
        if self._line:
            return self._line.popleft()
        self._taken -= 1
        return None

    def withdraw(self, waiter: T) -> bool:
        """Leave the line; False when it is not in it."""
        for position, waiting in enumerate(self._line):
            if waiting is waiter:
                del self._line[position]
                return True
        return False


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
