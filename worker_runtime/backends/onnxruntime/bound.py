"""ONNX models on a device: inputs and outputs are bound to memory there that is used again."""

import itertools
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

import torch

from worker_runtime.backends.base import BatchInput
from worker_runtime.backends.device.copies import TORCH_TYPES
from worker_runtime.backends.device.lane import LANES, LaneInstance
from worker_runtime.backends.device.padding import front, of_rows
from worker_runtime.backends.device.streams import CAPTURES, Turn
from worker_runtime.backends.graph_sizes import GraphBudget, GraphSize, padded
from worker_runtime.backends.onnxruntime.batch_sizes import BatchSizes
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
Reserve = Callable[[str, str, Shape], Any]  # a tensor for a name, a data type and a shape
_CPU = torch.device("cpu")


class OnnxProgram:
    """A session as one lane runs it: a Program, with memory for the largest batch there was.

    The session computes on the stream of ``turn``; it must not start while that is not its own.
    ``device`` may be the CPU. ``sizes`` is shared by all lanes of the session.
    """

    def __init__(
        self, session: Any, device: torch.device, turn: Turn, options: Any, sizes: BatchSizes
    ) -> None:
        self._session = session
        self._device = device
        self._turn = turn
        self._options = options
        self._sizes = sizes
        graph = graph_of(session)
        self._given = {item.name: item for item in graph.inputs}
        self._made = {item.name: item for item in graph.outputs}
        self._on_host = _on_host(session)
        self._memory: dict[str, Any] = {}
        self._bindings: dict[Any, _Binding] = {}
        self._shapes_are_known = True
        self._now: _Binding | None = None
        self._rows = 0  # of the batch that is under way, where it is padded; else 0

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:
        """There are no graphs."""

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:
        rows = inputs[0].shape[0] if self._sizes.slow and inputs else 0
        whole = self._sizes.rows(rows, monotonic()) if rows else 0
        self._rows = rows if whole != rows else 0
        wanted = [of_rows(item, whole) for item in inputs] if self._rows else inputs
        key = (*((item.name, item.shape) for item in wanted), *outputs)
        found = self._bindings.get(key)
        if found is None:
            if len(self._bindings) >= _MOST_BINDINGS:
                self._bindings.clear()
            found = self._bindings[key] = self._bound(key, wanted, outputs, self._reserved)
        self._now = found
        return {name: front(tensor, self._rows) for name, tensor in found.inputs.items()}

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:  # noqa: ARG002 # they are bound
        now, sizes = self._now, self._sizes
        if self._session is None or now is None:
            raise Unavailable("the model was unloaded")
        if sizes.slow and sizes.changes(now.shapes):
            # why: what it had planned for the batch before is given up, and must not be in use
            self._turn.stream.drain()
        started = monotonic()
        try:
            _run(self._session, now.binding, self._options)
        except Exception as error:
            if not _OTHER_SHAPE.search(str(error)) or not self._shapes_are_known:
                raise
            # The file says shapes that the model does not keep to: it makes its outputs itself.
            self._shapes_are_known = False
            self._bindings.clear()
            self._now = now = now.without_outputs(self._session)
            _run(self._session, now.binding, self._options)
        if sizes.ran(now.shapes, monotonic() - started):
            logger.warning(
                "ONNX Runtime takes long after each change of the batch size: batches of this "
                "model are padded to few sizes from now on"
            )
        return [front(tensor, self._rows) for tensor in now.results(self._made)]

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
        shapes: object,
        inputs: Sequence[BatchInput],
        outputs: Sequence[str],
        reserve: "Reserve",
    ) -> "_Binding":
        if self._session is None:
            raise Unavailable("the model was unloaded")
        axes = self._axes(inputs)
        given = {item.name: reserve(item.name, item.datatype.name, item.shape) for item in inputs}
        made: dict[str, Any] = {}
        for name in outputs:
            tensor = self._made[name]
            shape = resolved(tensor, axes) if self._shapes_are_known else None
            made[name] = None if shape is None else reserve(name, tensor.datatype, shape)
        return _Binding(shapes, self._session, self._device, given, made)

    def _axes(self, inputs: Sequence[BatchInput]) -> dict[str, int]:
        """How long the named axes of the model's inputs are, without those that contradict."""
        found: dict[str, set[int]] = {}
        for item in inputs:
            axes = self._given[item.name].shape if item.name in self._given else None
            for axis, size in zip(axes or (), item.shape, strict=False):
                if isinstance(axis, str):
                    found.setdefault(axis, set()).add(size)
        return {axis: sizes.pop() for axis, sizes in found.items() if len(sizes) == 1}

    def _place(self, name: str) -> torch.device:
        """Where the nodes are that take an input, or give an output."""
        return _CPU if name in self._on_host else self._device

    def _reserved(self, name: str, datatype: str, shape: Shape) -> Any:
        """A tensor at the front of the memory of this name, which grows to the largest.

        In the beginning all of it is 0: rows that nobody sent are an index into any table.
        """
        dtype = TORCH_TYPES[datatype]
        size = max(1, element_count(shape)) * dtype.itemsize
        memory = self._memory.get(name)
        if memory is None or memory.nbytes < size:
            self._bindings.clear()  # they have the addresses of the memory before
            memory = torch.zeros(size, dtype=torch.uint8, device=self._place(name))
            self._memory[name] = memory
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
        turn: Turn,
        options_for: OptionsFor,
        capture_options_for: OptionsFor,
        sizes: Sequence[GraphSize],
        budget: GraphBudget,
    ) -> None:
        # why never padded without a graph: every size that there is to pad to has one
        super().__init__(session, device, turn, options_for(NO_GRAPH), BatchSizes(()))
        self._options_for = options_for
        self._capture_options_for = capture_options_for
        self._sizes_of_graphs = sizes
        self._budget = budget
        self._graphs: dict[Any, _Graph | None] = {}
        self._replays: _Graph | None = None

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:
        """Capture the graph of these shapes, if they get one and it is not there yet.

        Beside a load nothing is captured: the batch runs without.
        """
        own = inputs[0].shape[0] if self._sizes_of_graphs and inputs else 0
        rows = padded(own, self._sizes_of_graphs) if self._sizes_of_graphs else 0
        self._replays = None
        if rows is None:
            return
        whole = [of_rows(item, rows) for item in inputs]
        shapes = [(item.name, item.shape) for item in whole]
        key = (threading.get_ident(), *shapes, *outputs)
        if key not in self._graphs:
            with CAPTURES.alone() as free:
                if not free:
                    return  # another batch will capture it
                self._graphs[key] = self._captured(whole, outputs)
        self._replays, self._rows = self._graphs[key], own

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:
        graph = self._replays
        if graph is None:
            return super().places(inputs, outputs)
        return {name: front(tensor, self._rows) for name, tensor in graph.bound.inputs.items()}

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
        graph = self._replays
        if graph is None:
            return super().compute(tensors, outputs)
        if self._session is None:
            raise Unavailable("the model was unloaded")
        _run(self._session, graph.bound.binding, graph.options)
        return [front(tensor, self._rows) for tensor in graph.bound.results(self._made)]

    def close(self) -> None:
        super().close()
        for graph in self._graphs.values():
            if graph is not None:
                self._budget.give_back(graph.size)
        self._graphs, self._replays = {}, None

    def _captured(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> "_Graph | None":
        """None where shapes cannot be known before, there is no room, or ONNX Runtime refuses."""
        axes = self._axes(inputs)
        if any(resolved(self._made[name], axes) is None for name in outputs):
            return None

        def reserve(name: str, datatype: str, shape: Shape) -> Any:
            # why zeros: the capture runs with them, and they are an index into any table
            return torch.zeros(shape, dtype=TORCH_TYPES[datatype], device=self._place(name))

        bound = self._bound(None, inputs, outputs, reserve)
        size = sum(tensor.nbytes for tensor in (*bound.inputs.values(), *bound.outputs.values()))
        if not self._budget.take(size):
            return None
        number = next(_NUMBERS)
        try:
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
            _run(self._session, bound.binding, self._capture_options_for(number))
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
        shapes: object,
        session: Any,
        device: torch.device,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
    ) -> None:
        self.shapes = shapes
        self.inputs = inputs
        self.outputs = outputs
        self._torch_device = device
        self._free = [name for name, tensor in outputs.items() if tensor is None]
        self._device = (device.type, device.index or 0)  # of outputs that ONNX Runtime makes
        binding = self.binding = session.io_binding()
        for name, tensor in inputs.items():
            binding.bind_input(name, *_place_of(tensor), *_memory_of(tensor))
        for name, tensor in outputs.items():
            if tensor is None:
                binding.bind_output(name, *self._device)
            else:
                binding.bind_output(name, *_place_of(tensor), *_memory_of(tensor))

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

    def without_outputs(self, session: Any) -> "_Binding":
        """The same inputs; every output is made by ONNX Runtime."""
        nothing = dict.fromkeys(self.outputs)
        return _Binding(self.shapes, session, self._torch_device, self.inputs, nothing)


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


def _on_host(session: Any) -> set[str]:
    """The inputs and outputs of nodes that run on the CPU, such as the shape that Expand takes.

    why they are bound there: ONNX Runtime copies what is bound elsewhere before the run, on a
    stream of its own, which does not wait for what was copied there just before.
    """
    places = (
        *zip(session.get_inputs(), session.get_input_memory_infos(), strict=True),
        *zip(session.get_outputs(), session.get_output_memory_infos(), strict=True),
    )
    return {item.name for item, memory in places if memory.name == "Cpu"}


def _place_of(tensor: Any) -> tuple[str, int]:
    return tensor.device.type, tensor.device.index or 0


def _run(session: Any, binding: Any, options: Any) -> None:
    # why the inner session: the wrapper asks for an option of WebGPU that nobody has set, and to be
    # told so, by an exception, costs 30 us in which no other thread runs
    session._sess.run_with_iobinding(binding._iobinding, options)


def _typed(tensor: Any, datatype: str) -> Any:
    """DLPack may know a BOOL as the bytes that it is."""
    wanted = TORCH_TYPES[datatype]
    return tensor if tensor.dtype == wanted else tensor.view(wanted)


def _memory_of(tensor: Any) -> tuple[Any, Shape, int]:
    # why the second: PyTorch gives 0 for a tensor without elements, and ONNX Runtime refuses that
    address = tensor.data_ptr() or tensor.untyped_storage().data_ptr()
    return _NUMPY_TYPES[tensor.dtype], tuple(tensor.shape), address


_NUMPY_TYPES: dict[torch.dtype, Any] = {
    dtype: BY_NAME[name].dtype.type for name, dtype in TORCH_TYPES.items() if name != "BF16"
} | {torch.bfloat16: 16}  # numpy has none: it goes by its number in onnx.TensorProto
