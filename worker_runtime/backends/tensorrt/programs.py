"""A TensorRT engine as one lane of an instance runs it."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from worker_runtime.backends.base import BatchInput
from worker_runtime.backends.graph_sizes import GraphBudget
from worker_runtime.backends.tensorrt.contexts import Context, Workplace
from worker_runtime.backends.tensorrt.engines import Profile, Shape
from worker_runtime.backends.tensorrt.graphs import CapturedGraph, Graphs, GraphShapes
from worker_runtime.errors import BackendFailed, InvalidArgument, RuntimeFault, Unavailable

logger = logging.getLogger(__name__)
Contexts = Sequence[tuple[Profile, Context]]


class EngineProgram:
    """A Program. It shares the contexts of its instance, and has CUDA graphs of its own.

    ``batched``: the first axis of tensors, and the first value of shape tensors, is the batch.
    """

    def __init__(self, place: Workplace, contexts: Contexts, *, batched: bool) -> None:
        self._place: Workplace | None = place
        self._tensors = place.tensors
        self._contexts = contexts
        self._batched = batched
        self._graphs = Graphs(batched=batched)
        self._budget: GraphBudget | None = None
        self._graph: CapturedGraph | None = None
        self._context: Context | None = None
        self._rows = 0
        self._inputs: dict[str, torch.Tensor] = {}

    def capture(self, profile: Profile, wanted: GraphShapes, budget: GraphBudget) -> bool:
        """Capture one more graph; whether ``budget`` has room for it.

        One that cannot be captured is left out, with a warning.
        """
        place = self._opened()
        self._budget = budget
        if self._graphs.has(wanted):
            return True
        try:
            with place.stream.entered():
                return self._captured(place, profile, wanted, budget)
        except (RuntimeError, RuntimeFault) as error:
            shapes = dict(wanted.shapes)
            logger.warning("%s: no CUDA graph for %s: %s", place.name, shapes, error)
            return True

    def _captured(
        self, place: Workplace, profile: Profile, wanted: GraphShapes, budget: GraphBudget
    ) -> bool:
        # why a context of its own: what TensorRT keeps on the device for one set of shapes changes
        # with the next, and a graph goes on reading it.
        context = Context(place, profile.number)
        inputs = {
            # why zeros: rows that no request ever filled are run as well
            name: place.reserve(shape, self._tensors.kinds[name]).zero_()
            for name, shape in wanted.shapes.items()
        }
        outputs = context.bind(inputs)
        size = sum(tensor.nbytes for tensor in (*inputs.values(), *outputs.values()))
        if not budget.take(size):
            return False
        try:
            graph = CapturedGraph(place, context, wanted, inputs, outputs)
        except BaseException:
            budget.give_back(size)
            raise
        self._graphs.add(graph)
        return True

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:  # noqa: ARG002 # an engine makes all of its outputs
        """Choose what runs these shapes. Raises InvalidArgument or Unavailable."""
        place = self._opened()
        of_shapes = self._tensors.on_host
        shapes = {item.name: item.shape for item in inputs if item.name not in of_shapes}
        self._graph, self._rows = self._graphs.find(shapes)
        if self._graph is not None:
            return
        lead = [shape[0] for shape in shapes.values()][:1] if self._batched else []
        self._inputs = {
            item.name: shape_tensor(item, lead) for item in inputs if item.name in of_shapes
        }
        values = {name: tuple(tensor.reshape(-1).tolist()) for name, tensor in self._inputs.items()}
        self._context = self._context_for(place, shapes, values)

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 # as above
        if self._graph is not None:
            return self._graph.fronts(self._rows)
        place = self._opened()
        for item in inputs:
            if item.name in self._inputs:
                item.parts = []  # they were read already: nothing is left to copy
            else:
                kind = self._tensors.kinds[item.name]
                self._inputs[item.name] = place.reserve(item.shape, kind)
        return self._inputs

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:  # noqa: ARG002 # they are where the engine looks for them
        if self._graph is not None:
            made = self._graph.replay(self._rows)
            return [made[name] for name in outputs]
        if self._context is None:
            raise Unavailable("the model was unloaded")
        made = self._context.bind(self._inputs)
        self._context.run()
        return [self._without_batch(name, made[name]) for name in outputs]

    def finish(self) -> None:
        self._graph, self._context, self._inputs = None, None, {}

    def fault(self, error: Exception) -> RuntimeFault:
        return BackendFailed(f"TensorRT: {error}")

    def close(self) -> None:
        """Let go of the engine, which may hold gigabytes, whoever still holds this."""
        if self._budget is not None:
            for graph in self._graphs.all():
                self._budget.give_back(graph.size)
        self._graphs = Graphs(batched=self._batched)
        self._contexts, self._place = (), None
        self.finish()

    def _without_batch(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """The values of an output's shape as clients see them: as in Triton, without the batch."""
        first = self._batched and name in self._tensors.on_host and tensor.dim()
        return tensor[1:] if first else tensor

    def _context_for(
        self, place: Workplace, shapes: Mapping[str, Shape], values: Mapping[str, Shape]
    ) -> Context:
        """That of the first profile that takes these inputs. Raises InvalidArgument."""
        misfit = ""
        for profile, context in self._contexts:
            wrong = profile.misfit(shapes, values)
            if not wrong:
                return context
            misfit = misfit or wrong
        raise InvalidArgument(f"request specifies invalid shape for {misfit} of {place.name}")

    def _opened(self) -> Workplace:
        if self._place is None:
            raise Unavailable("the model was unloaded")
        return self._place


def shape_tensor(item: BatchInput, lead: Sequence[int]) -> torch.Tensor:
    """A shape tensor in the host's memory, with ``lead``, the batch, before the values.

    Raises InvalidArgument where the requests of a batch do not have the same values.
    """
    found = {part.tobytes() if isinstance(part, np.ndarray) else bytes(part) for part in item.parts}
    if len(found) != 1:
        raise InvalidArgument(
            f"input '{item.name}': requests with other values of a shape tensor were batched"
        )
    values = np.frombuffer(found.pop(), item.datatype.dtype)
    if lead:
        return torch.from_numpy(np.concatenate([np.array(lead, values.dtype), values]))
    return torch.from_numpy(values.reshape(item.shape).copy())
