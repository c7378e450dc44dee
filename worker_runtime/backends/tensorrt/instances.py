"""Instances of TensorRT models: a stream, and contexts that take turns on it."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from worker_runtime.backends.base import Array
from worker_runtime.backends.device.streams import CAPTURES
from worker_runtime.backends.graph_sizes import GraphBudget
from worker_runtime.backends.tensorrt.contexts import Context, Workplace
from worker_runtime.backends.tensorrt.engines import Profile, Shape, tensors_of
from worker_runtime.backends.tensorrt.graphs import (
    CapturedGraph,
    Graphs,
    GraphShapes,
    wanted_graphs,
)
from worker_runtime.backends.tensorrt.tensors import on_host, to_numpy
from worker_runtime.errors import GpuMemoryFull, InvalidArgument, RuntimeFault, Unavailable

logger = logging.getLogger(__name__)


class EngineInstance:
    """A context for each profile, and one for each CUDA graph; the weights are the engine's.

    ``batched``: the first axis of tensors, and the first value of shape tensors, is the batch.
    """

    def __init__(
        self,
        engine: Any,
        profiles: Sequence[Profile],
        device: torch.device,
        name: str,
        *,
        batched: bool = False,
    ) -> None:
        make: Any = torch.cuda.Stream
        self._stream: Any = make(device) if device.type == "cuda" else None
        self._name = name
        self._batched = batched
        self._tensors = tensors_of(engine)
        with torch.cuda.stream(self._stream):
            self._place: Workplace | None = Workplace(
                engine, self._tensors, device, self._stream, name
            )
            self._contexts = [(item, Context(self._place, item.number)) for item in profiles]
        self._graphs = Graphs(batched=batched)

    def capture(self, config: Any, budget: GraphBudget) -> None:
        """Capture the CUDA graphs that ``config`` asks for. Raises ConfigInvalid.

        One that cannot be captured is left out, with a warning, and so is what ``budget`` has no
        room for: their shapes run as others do.
        """
        for profile, _ in self._contexts:
            for wanted in wanted_graphs(config, profile.optimal):
                if self._tensors.on_host:
                    logger.warning(
                        "Detected shape tensor, CUDA graph is not captured for %s", self._name
                    )
                    return
                if self._graphs.has(wanted) or _outside(profile, wanted.shapes):
                    continue
                try:
                    room = self._captured(profile, wanted, budget)
                except (RuntimeError, RuntimeFault) as error:
                    logger.warning(
                        "%s: no CUDA graph for %s: %s", self._name, dict(wanted.shapes), error
                    )
                    continue
                if not room:
                    logger.warning(
                        "%s: no room for the CUDA graph of %s: this and larger batches run "
                        "without one",
                        self._name,
                        dict(wanted.shapes),
                    )
                    return

    def _captured(self, profile: Profile, wanted: GraphShapes, budget: GraphBudget) -> bool:
        """Whether there was room for it. Raises RuntimeError or RuntimeFault."""
        place = self._opened()
        with torch.cuda.stream(self._stream):
            # why a context of its own: what TensorRT keeps on the device for one set of shapes
            # changes with the next, and a graph goes on reading it.
            context = Context(place, profile.number)
            inputs = {
                # why zeros: rows that no request ever filled are run as well
                name: place.memory.reserve(shape, self._tensors.kinds[name]).zero_()
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

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        place = self._opened()
        given = self._with_batch(inputs)
        shapes = {name: array.shape for name, array in given.items()}
        work = self._graphs.find(shapes) or self._context_for(given)
        tensors = {name: on_host(array, self._tensors.kinds[name]) for name, array in given.items()}
        try:
            with CAPTURES.shared(), torch.cuda.stream(self._stream):
                return self._fetched(place, work.serve(tensors), outputs)
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise GpuMemoryFull(f"TensorRT: out of memory on the GPU: {error}") from error

    def _fetched(
        self, place: Workplace, made: Mapping[str, torch.Tensor], outputs: Sequence[str]
    ) -> list[Array]:
        # why copy: without a device the graph's own memory would be given away.
        found = {
            name: made[name].to("cpu", non_blocking=True, copy=True)
            for name in outputs
            if name not in self._tensors.on_host
        }
        place.wait()
        for name in self._tensors.on_host.intersection(outputs):
            found[name] = made[name][1:] if self._batched and made[name].dim() else made[name]
        return [to_numpy(found[name]) for name in outputs]

    def _with_batch(self, inputs: dict[str, Array]) -> dict[str, Array]:
        """Shape tensors as the engine takes them: as in Triton, requests leave the batch out."""
        if not self._batched or not self._tensors.on_host:
            return inputs
        rows = [len(array) for name, array in inputs.items() if name not in self._tensors.on_host]
        return {
            name: np.concatenate([np.array(rows[:1], array.dtype), array.reshape(-1)])
            if name in self._tensors.on_host
            else array
            for name, array in inputs.items()
        }

    def _context_for(self, inputs: Mapping[str, Array]) -> Context:
        """The first profile that takes these inputs. Raises InvalidArgument."""
        misfit = ""
        for profile, context in self._contexts:
            wrong = profile.misfit(inputs)
            if not wrong:
                return context
            misfit = misfit or wrong
        raise InvalidArgument(f"request specifies invalid shape for {misfit} of {self._name}")

    def _opened(self) -> Workplace:
        if self._place is None:
            raise Unavailable("the model was unloaded")
        return self._place

    def close(self) -> None:
        self._graphs = Graphs(batched=self._batched)
        self._contexts = []
        self._place = None


def _outside(profile: Profile, shapes: Mapping[str, Shape]) -> bool:
    return any(
        not low <= got <= high
        for name, shape in shapes.items()
        for low, got, high in zip(profile.smallest[name], shape, profile.largest[name], strict=True)
    )
