"""ONNX models on a device: inputs and outputs are bound to memory there that is used again."""

import itertools
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from worker_runtime.backends.base import BatchInput
from worker_runtime.backends.device.copies import TORCH_TYPES
from worker_runtime.backends.device.lane import LANES, LaneInstance
from worker_runtime.backends.device.streams import CAPTURES, Turn
from worker_runtime.backends.graph_sizes import GraphBudget, GraphSize, padded
from worker_runtime.backends.onnxruntime.sessions import NO_GRAPH, execution_fault, graph_of
from worker_runtime.errors import RuntimeFault, Unavailable
from worker_runtime.types.signature import GraphTensor
from worker_runtime.types.tensor import BY_NAME, element_count

logger = logging.getLogger(__name__)
_MOST_BINDINGS = 256  # of sets of shapes; they hold no memory of their own
_NUMBERS = itertools.count(1)  # of graphs: those of one session's lanes must differ
_OTHER_SHAPE = re.compile("pre-allocated output OrtValues|shape verification failed")
Shape = tuple[int, ...]
_from_dlpack: Any = torch.utils.dlpack.from_dlpack
# How an execution is told its graph's number; NO_GRAPH for none.
OptionsFor = Callable[[int], Any]


class OnnxProgram:
    """A session as one lane runs it: a Program, with memory for the largest batch there was.

    The session computes on the stream of the instance's turn. ``device`` may be the CPU.
    """

    def __init__(self, session: Any, device: torch.device, options: Any) -> None:
        self._session = session
        self._device = device
        self._options = options
        graph = graph_of(session)
        self._given = {item.name: item for item in graph.inputs}
        self._made = {item.name: item for item in graph.outputs}
        self._memory: dict[str, Any] = {}
        self._bindings: dict[Any, _Binding] = {}
        self._shapes_are_known = True
        self._now: _Binding | None = None

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:
        """There are no graphs."""

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:
        key = (*((item.name, item.shape) for item in inputs), *outputs)
        found = self._bindings.get(key)
        if found is None:
            if len(self._bindings) >= _MOST_BINDINGS:
                self._bindings.clear()
            found = self._bindings[key] = self._bound(inputs, outputs, self._reserved)
        self._now = found
        return found.inputs

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:  # noqa: ARG002 # they are bound
        session, now = self._session, self._now
        if session is None or now is None:
            raise Unavailable("the model was unloaded")
        try:
            session.run_with_iobinding(now.binding, self._options)
        except Exception as error:
            if not _OTHER_SHAPE.search(str(error)) or not self._shapes_are_known:
                raise
            # The file says shapes that the model does not keep to: it makes its outputs itself.
            self._shapes_are_known = False
            self._bindings.clear()
            self._now = now = now.without_outputs(session, self._device)
            session.run_with_iobinding(now.binding, self._options)
        return now.results(self._made)

    def finish(self) -> None:
        """Outputs that ONNX Runtime made go back to it."""
        if self._now is not None:
            self._now.let_go()

    def fault(self, error: Exception) -> RuntimeFault:
        return execution_fault(error, on_gpu=True)

    def close(self) -> None:
        """Let go of the session and of the memory, whoever still holds this."""
        self._session = self._now = None
        self._memory, self._bindings = {}, {}

    def _bound(
        self,
        inputs: Sequence[BatchInput],
        outputs: Sequence[str],
        reserve: Callable[[str, str, Shape], Any],
    ) -> "_Binding":
        if self._session is None:
            raise Unavailable("the model was unloaded")
        sizes = self._sizes(inputs)
        given = {item.name: reserve(item.name, item.datatype.name, item.shape) for item in inputs}
        made: dict[str, Any] = {}
        for name in outputs:
            tensor = self._made[name]
            shape = resolved(tensor, sizes) if self._shapes_are_known else None
            made[name] = (
                reserve(f"{name} out", tensor.datatype, shape) if shape is not None else None
            )
        return _Binding(self._session, self._device, given, made)

    def _sizes(self, inputs: Sequence[BatchInput]) -> dict[str, int]:
        """What the named axes of the model's inputs are; those that contradict are left out."""
        found: dict[str, set[int]] = {}
        for item in inputs:
            axes = self._given[item.name].shape if item.name in self._given else None
            for axis, size in zip(axes or (), item.shape, strict=False):
                if isinstance(axis, str):
                    found.setdefault(axis, set()).add(size)
        return {axis: sizes.pop() for axis, sizes in found.items() if len(sizes) == 1}

    def _reserved(self, name: str, datatype: str, shape: Shape) -> Any:
        """A tensor at the front of the memory of this name, which grows to the largest."""
        dtype = TORCH_TYPES[datatype]
        size = max(1, element_count(shape)) * dtype.itemsize
        memory = self._memory.get(name)
        if memory is None or memory.nbytes < size:
            self._bindings.clear()  # they have the addresses of the memory before
            memory = self._memory[name] = torch.empty(size, dtype=torch.uint8, device=self._device)
        return memory[:size].view(dtype)[: element_count(shape)].view(shape)


class GraphProgram(OnnxProgram):
    """The same, with CUDA graphs: memory of their own, and batches padded to their sizes.

    A graph replays what was captured with the very addresses of that time. It belongs to the thread
    in which ONNX Runtime captured it. ``sizes`` is empty for a model whose batches are not known:
    each set of shapes is a graph of its own.
    """

    def __init__(
        self,
        session: Any,
        device: torch.device,
        options_for: OptionsFor,
        capture_options_for: OptionsFor,
        sizes: Sequence[GraphSize],
        budget: GraphBudget,
    ) -> None:
        super().__init__(session, device, options_for(NO_GRAPH))
        self._options_for = options_for
        self._capture_options_for = capture_options_for
        self._sizes_of_graphs = sizes
        self._budget = budget
        self._graphs: dict[Any, _Graph | None] = {}
        self._replays: _Graph | None = None
        self._rows = 0

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:
        """Capture the graph of these shapes, if they get one and it is not there yet."""
        self._rows = inputs[0].shape[0] if self._sizes_of_graphs and inputs else 0
        rows = padded(self._rows, self._sizes_of_graphs) if self._sizes_of_graphs else 0
        self._replays = None
        if rows is None:
            return
        whole = [_of_rows(item, rows) for item in inputs]
        shapes = [(item.name, item.shape) for item in whole]
        key = (threading.get_ident(), *shapes, *outputs)
        if key not in self._graphs:
            self._graphs[key] = self._captured(whole, outputs)
        self._replays = self._graphs[key]

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:
        graph = self._replays
        if graph is None:
            return super().places(inputs, outputs)
        return {name: _front(tensor, self._rows) for name, tensor in graph.bound.inputs.items()}

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
        graph = self._replays
        if graph is None:
            return super().compute(tensors, outputs)
        if self._session is None:
            raise Unavailable("the model was unloaded")
        self._session.run_with_iobinding(graph.bound.binding, graph.options)
        return [_front(tensor, self._rows) for tensor in graph.bound.results(self._made)]

    def close(self) -> None:
        super().close()
        for graph in self._graphs.values():
            if graph is not None:
                self._budget.give_back(graph.size)
        self._graphs, self._replays = {}, None

    def _captured(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> "_Graph | None":
        """None where shapes cannot be known before, there is no room, or ONNX Runtime refuses."""
        sizes = self._sizes(inputs)
        if any(resolved(self._made[name], sizes) is None for name in outputs):
            return None

        def reserve(_: str, datatype: str, shape: Shape) -> Any:
            # why zeros: the capture runs with them, and they are an index into any table
            return torch.zeros(shape, dtype=TORCH_TYPES[datatype], device=self._device)

        bound = self._bound(inputs, outputs, reserve)
        size = sum(tensor.nbytes for tensor in (*bound.inputs.values(), *bound.outputs.values()))
        if not self._budget.take(size):
            return None
        number = next(_NUMBERS)
        with CAPTURES.alone():
            try:
                if self._device.type == "cuda":
                    torch.cuda.synchronize(self._device)
                self._session.run_with_iobinding(bound.binding, self._capture_options_for(number))
            except Exception as error:  # why so wide: ONNX Runtime's share no base class but this
                self._budget.give_back(size)
                logger.warning("no CUDA graph for %s: %s", [i.shape for i in inputs], error)
                return None
        return _Graph(bound, self._options_for(number), size)


class _Graph:
    def __init__(self, bound: "_Binding", options: Any, size: int) -> None:
        self.bound = bound
        self.options = options
        self.size = size


class _Binding:
    """Tensors by name, bound to a session; an output that is None is made by ONNX Runtime."""

    def __init__(
        self,
        session: Any,
        device: torch.device,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self._free = [name for name, tensor in outputs.items() if tensor is None]
        self._device = (device.type, device.index or 0)
        binding = self.binding = session.io_binding()
        for name, tensor in inputs.items():
            binding.bind_input(name, *self._device, *_memory_of(tensor))
        for name, tensor in outputs.items():
            if tensor is None:
                binding.bind_output(name, *self._device)
            else:
                binding.bind_output(name, *self._device, *_memory_of(tensor))

    def results(self, tensors: Mapping[str, GraphTensor]) -> list[Any]:
        """The outputs of the execution that was started last."""
        if not self._free:
            return list(self.outputs.values())
        made = zip(self.outputs, self.binding.get_outputs(), strict=True)
        return [
            self.outputs[name]
            if self.outputs[name] is not None
            else _typed(_from_dlpack(value), tensors[name].datatype)
            for name, value in made
        ]

    def let_go(self) -> None:
        for name in self._free:
            self.binding.bind_output(name, *self._device)

    def without_outputs(self, session: Any, device: torch.device) -> "_Binding":
        """The same inputs; every output is made by ONNX Runtime."""
        return _Binding(session, device, self.inputs, dict.fromkeys(self.outputs))


class OnnxDeviceInstance(LaneInstance):
    """A DeviceInstance. ``program`` makes what one lane runs; ``turn`` is that of the session."""

    def __init__(
        self, device: torch.device, turn: Turn, program: Callable[[], OnnxProgram]
    ) -> None:
        self._programs = [program() for _ in range(LANES)]
        super().__init__(device, self._programs, turn)

    def close(self) -> None:
        """Let go of the session, which may hold gigabytes, whoever still holds this instance."""
        for item in self._programs:
            item.close()


def resolved(tensor: GraphTensor, sizes: Mapping[str, int]) -> Shape | None:
    """The shape of an output by the axes of the inputs; None where they do not say it."""
    if tensor.shape is None or tensor.datatype not in TORCH_TYPES:
        return None
    shape = [axis if isinstance(axis, int) else sizes.get(axis, -1) for axis in tensor.shape]
    return None if any(size < 0 for size in shape) else tuple(shape)


def _of_rows(item: BatchInput, rows: int) -> BatchInput:
    if not rows:
        return item
    return BatchInput(item.name, item.datatype, (rows, *item.shape[1:]), [])


def _front(tensor: Any, rows: int) -> Any:
    return tensor[:rows] if rows else tensor


def _typed(tensor: Any, datatype: str) -> Any:
    """DLPack may know a BOOL as the bytes that it is."""
    wanted = TORCH_TYPES[datatype]
    return tensor if tensor.dtype == wanted else tensor.view(wanted)


def _memory_of(tensor: Any) -> tuple[Any, Shape, int]:
    return _NUMPY_TYPES[tensor.dtype], tuple(tensor.shape), tensor.data_ptr()


_NUMPY_TYPES: dict[torch.dtype, Any] = {
    dtype: BY_NAME[name].dtype.type for name, dtype in TORCH_TYPES.items() if name != "BF16"
} | {torch.bfloat16: 16}  # numpy has none: it goes by its number in onnx.TensorProto
