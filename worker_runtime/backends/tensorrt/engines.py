"""TensorRT engines: read, described, and run through one context for each optimisation profile.

Memory and streams are PyTorch's, which is here anyway. Never run on hardware yet.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorrt as trt
import torch
from msgspec import Struct

from worker_runtime.backends.base import Array
from worker_runtime.backends.tensorrt.graphs import CapturedGraph, GraphSpec, wanted_graphs
from worker_runtime.errors import (
    BackendFailed,
    GpuMemoryFull,
    InvalidArgument,
    LoadFailed,
    Problem,
    Unavailable,
)
from worker_runtime.types.signature import GraphTensor, ModelGraph

logger = logging.getLogger(__name__)
_BITS = np.dtype("<u2")
# By TensorRT's name of a type: the wire's, and PyTorch's.
_TYPES: dict[str, tuple[str, torch.dtype]] = {
    "FLOAT": ("FP32", torch.float32),
    "HALF": ("FP16", torch.float16),
    "BF16": ("BF16", torch.bfloat16),
    "INT8": ("INT8", torch.int8),
    "INT32": ("INT32", torch.int32),
    "INT64": ("INT64", torch.int64),
    "BOOL": ("BOOL", torch.bool),
    "UINT8": ("UINT8", torch.uint8),
}
Shape = tuple[int, ...]


class Profile(Struct, frozen=True):
    """The smallest, the best and the largest shape of each input."""

    number: int
    smallest: Mapping[str, Shape]
    optimal: Mapping[str, Shape]
    largest: Mapping[str, Shape]


def read_engine(path: Path, model: str) -> Any:
    """Raises LoadFailed."""
    runtime = trt.Runtime(trt.Logger(trt.Logger.WARNING))
    engine = runtime.deserialize_cuda_engine(path.read_bytes())
    if engine is None:
        message = (
            f"unable to load plan file to auto complete config: {path}: it was not built for "
            f"TensorRT {trt.__version__} and this GPU"
        )
        hint = "build it again with trtexec of this version, on this kind of GPU"
        problem = Problem("ModelLoadFailed", message, model=model, hints=(hint,))
        raise LoadFailed(message, problem, "Internal")
    return engine


def graph_of(engine: Any) -> ModelGraph:
    inputs: list[GraphTensor] = []
    outputs: list[GraphTensor] = []
    for name in _names(engine):
        kind = engine.get_tensor_dtype(name).name
        datatype = _TYPES[kind][0] if kind in _TYPES else kind
        tensor = GraphTensor(name, datatype, tuple(engine.get_tensor_shape(name)))
        (inputs if _is_input(engine, name) else outputs).append(tensor)
    return ModelGraph(tuple(inputs), tuple(outputs), "tensorrt")


def profiles_of(engine: Any, wanted: Sequence[int]) -> list[Profile]:
    """The profiles by number; ``wanted`` () means the first. Raises LoadFailed."""
    found = []
    for number in wanted or (0,):
        if not 0 <= number < engine.num_optimization_profiles:
            message = (
                f"requested profile {number} is not in the engine, which has "
                f"{engine.num_optimization_profiles}"
            )
            raise LoadFailed(message, Problem("ConfigInvalid", message, field="instance_group"))
        smallest, optimal, largest = {}, {}, {}
        for name in _names(engine):
            if _is_input(engine, name):
                shapes = map(tuple, engine.get_tensor_profile_shape(name, number))
                smallest[name], optimal[name], largest[name] = shapes
        found.append(Profile(number, smallest, optimal, largest))
    return found


def largest_batch(engine: Any, profiles: Sequence[Profile]) -> int:
    """How many rows an engine with a variable first axis takes; 0 when it has none."""
    graph = graph_of(engine)
    if not all(t.dims[:1] == (-1,) for t in (*graph.inputs, *graph.outputs)):
        return 0
    return max(min(shape[0] for shape in item.largest.values()) for item in profiles)


class EngineInstance:
    """A stream and a context of its own for each profile; the weights are the engine's."""

    def __init__(
        self, engine: Any, profiles: Sequence[Profile], device: torch.device, name: str
    ) -> None:
        self._name = name
        self._device = device
        make: Any = torch.cuda.Stream
        self._stream: Any = make(device) if device.type == "cuda" else None
        self._contexts: list[tuple[Profile, Any]] = []
        for profile in profiles:
            context = engine.create_execution_context()
            context.set_optimization_profile_async(profile.number, self._handle)
            self._contexts.append((profile, context))
        self._types = {
            tensor: _TYPES[engine.get_tensor_dtype(tensor).name][1] for tensor in _names(engine)
        }
        self._outputs = [tensor for tensor in _names(engine) if not _is_input(engine, tensor)]
        self._graphs: list[CapturedGraph] = []

    def capture(self, config: Any) -> None:
        """Capture the CUDA graphs that ``config`` asks for. Raises ConfigInvalid.

        One that cannot be captured is left out, with a warning: its shapes run as others do.
        """
        for profile, context in self._contexts:
            for spec in wanted_graphs(config, profile.optimal):
                if any(held.spec.shapes == spec.shapes for held in self._graphs):
                    continue
                if _outside(profile, spec.shapes):
                    continue
                try:
                    self._graphs.append(self._captured(context, spec))
                except (RuntimeError, BackendFailed) as error:
                    logger.warning(
                        "%s: no CUDA graph for %s: %s", self._name, dict(spec.shapes), error
                    )

    def _captured(self, context: Any, spec: GraphSpec) -> CapturedGraph:
        inputs = {
            name: torch.zeros(shape, dtype=self._types[name], device=self._device)
            for name, shape in spec.shapes.items()
        }
        outputs = self._bind(context, inputs)
        return CapturedGraph(context, spec, inputs, outputs, self._stream)

    @property
    def _handle(self) -> int:
        return int(self._stream.cuda_stream) if self._stream is not None else 0

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if not self._contexts:
            raise Unavailable("the model was unloaded")
        shapes = {name: array.shape for name, array in inputs.items()}
        graph = next((held for held in self._graphs if held.takes(shapes)), None)
        try:
            with torch.cuda.stream(self._stream):
                if graph is not None:
                    made = graph.run(self._moved(inputs))
                    return self._fetched(made, outputs)
                return self._run(self._context_for(inputs), inputs, outputs)
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise GpuMemoryFull(f"TensorRT: out of memory on the GPU: {error}") from error

    def _run(self, context: Any, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        moved = self._moved(inputs)  # why kept: its memory must live until the stream is done
        made = self._bind(context, moved)
        if not context.execute_async_v3(self._handle):
            raise BackendFailed(f"unable to execute TRT context for {self._name}")
        return self._fetched(made, outputs)

    def _moved(self, inputs: Mapping[str, Array]) -> dict[str, torch.Tensor]:
        return {
            name: _to_torch(array, self._types[name]).to(self._device, non_blocking=True)
            for name, array in inputs.items()
        }

    def _bind(self, context: Any, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Tell the context where its tensors are; gives the outputs."""
        for name, tensor in inputs.items():
            if not context.set_input_shape(name, tuple(tensor.shape)):
                raise InvalidArgument(
                    f"failed to set the shape {list(tensor.shape)} of input '{name}' for "
                    f"{self._name}"
                )
            context.set_tensor_address(name, tensor.data_ptr())
        made = {}
        for name in self._outputs:
            shape = tuple(context.get_tensor_shape(name))
            if -1 in shape:
                raise BackendFailed(
                    f"output '{name}' of {self._name} has a shape that depends on the data"
                )
            made[name] = torch.empty(shape, dtype=self._types[name], device=self._device)
            context.set_tensor_address(name, made[name].data_ptr())
        return made

    def _fetched(self, made: Mapping[str, torch.Tensor], outputs: Sequence[str]) -> list[Array]:
        # why copy: without a device the graph's own memory would be given away.
        found = [made[name].to("cpu", non_blocking=True, copy=True) for name in outputs]
        if self._stream is not None:
            self._stream.synchronize()
        return [_to_numpy(tensor) for tensor in found]

    def _context_for(self, inputs: Mapping[str, Array]) -> Any:
        """The first profile that takes these shapes. Raises InvalidArgument."""
        misfit = ""
        for profile, context in self._contexts:
            wrong = _misfit(profile, inputs)
            if not wrong:
                return context
            misfit = misfit or wrong
        raise InvalidArgument(f"request specifies invalid shape for {misfit} of {self._name}")

    def close(self) -> None:
        self._graphs = []
        self._contexts = []


def _outside(profile: Profile, shapes: Mapping[str, Shape]) -> bool:
    return any(
        not low <= got <= high
        for name, shape in shapes.items()
        for low, got, high in zip(profile.smallest[name], shape, profile.largest[name], strict=True)
    )


def _misfit(profile: Profile, inputs: Mapping[str, Array]) -> str:
    for name, array in inputs.items():
        for axis, got in enumerate(array.shape):
            low, high = profile.smallest[name][axis], profile.largest[name][axis]
            if not low <= got <= high:
                return (
                    f"input '{name}': the model expects dimension {axis} to be between {low} and "
                    f"{high} but received {got}; this is a limit of optimization profile "
                    f"{profile.number}"
                )
    return ""


def _names(engine: Any) -> list[str]:
    return [engine.get_tensor_name(number) for number in range(engine.num_io_tensors)]


def _is_input(engine: Any, name: str) -> bool:
    return bool(engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT)


def _to_torch(array: Array, kind: torch.dtype) -> Any:
    if not array.flags.writeable:
        array = array.copy()
    if kind == torch.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _to_numpy(tensor: Any) -> Array:
    if tensor.dtype == torch.bfloat16:
        bits: Array = tensor.view(torch.int16).numpy().view(_BITS)
        return bits
    array: Array = tensor.numpy()
    return array
