"""TensorRT engines, read and described. Never run on hardware yet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorrt as trt
import torch
from msgspec import Struct

from worker_runtime.backends.tensorrt.plugins import PLUGINS
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.types.signature import GraphTensor, ModelGraph

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
# why one for all: TensorRT keeps the first that it is given, and complains of others.
_LOG = trt.Logger(trt.Logger.WARNING)
Shape = tuple[int, ...]


class EngineTensors(Struct, frozen=True):
    """What an engine takes and gives, by name.

    Shape tensors are ``on_host``: TensorRT reads and writes their values with the CPU, when it
    works out shapes, and so wants addresses there; all others are on the device.
    """

    kinds: Mapping[str, torch.dtype]
    outputs: tuple[str, ...]
    on_host: frozenset[str]


class Profile(Struct, frozen=True):
    """The smallest, the best and the largest shape of each input that is on the device.

    ``lowest`` and ``highest`` are the values of those that are on the host.
    """

    number: int
    smallest: Mapping[str, Shape]
    optimal: Mapping[str, Shape]
    largest: Mapping[str, Shape]
    lowest: Mapping[str, Shape]
    highest: Mapping[str, Shape]

    def misfit(self, shapes: Mapping[str, Shape], values: Mapping[str, Shape]) -> str:
        """Why it does not take these inputs; "" when it does. ``values``: of shape tensors."""
        wrong = [self._wrong_shape(name, shape) for name, shape in shapes.items()]
        wrong += [self._wrong_values(name, value) for name, value in values.items()]
        found = next(filter(None, wrong), "")
        return f"{found}; this is a limit of optimization profile {self.number}" if found else ""

    def _wrong_shape(self, name: str, shape: Shape) -> str:
        bounds = zip(self.smallest[name], shape, self.largest[name], strict=True)
        for axis, (low, got, high) in enumerate(bounds):
            if not low <= got <= high:
                return (
                    f"input '{name}': the model expects dimension {axis} to be between {low} and "
                    f"{high} but received {got}"
                )
        return ""

    def _wrong_values(self, name: str, values: Shape) -> str:
        if name not in self.lowest:
            return ""  # the profile says nothing of them
        lowest, highest = self.lowest[name], self.highest[name]
        if len(values) != len(lowest):
            return (
                f"input '{name}': mismatch between the number of shape values. Expecting "
                f"{len(lowest)}. Got {len(values)}"
            )
        for index, (low, got, high) in enumerate(zip(lowest, values, highest, strict=True)):
            if not low <= got <= high:
                return (
                    f"input '{name}': the shape value at index {index} is expected to be in range "
                    f"from {low} to {high}, Got: {got}"
                )
        return ""


def read_engine(path: Path, model: str, settings: Mapping[str, str]) -> Any:
    """``settings`` are those of the backend: they may name plugins. Raises LoadFailed."""
    wrong = PLUGINS.register(_LOG, settings)
    engine = trt.Runtime(_LOG).deserialize_cuda_engine(path.read_bytes())
    if engine is None:
        message = (
            f"unable to load plan file to auto complete config: {path}: it was not built for "
            f"TensorRT {trt.__version__} and this GPU, or needs a plugin that is not here"
        )
        hint = (
            "build it again with trtexec of this version, on this kind of GPU; libraries of "
            "plugins go into --backend-config=tensorrt,plugins=FILE;FILE"
        )
        problem = Problem(
            "ModelLoadFailed", message, model=model, detail="\n".join(wrong), hints=(hint,)
        )
        raise LoadFailed(message, problem, "Internal")
    return engine


def tensors_of(engine: Any) -> EngineTensors:
    """Raises LoadFailed for a type that this backend has not."""
    names = _names(engine)
    kinds = {name: engine.get_tensor_dtype(name).name for name in names}
    for name, kind in kinds.items():
        if kind not in _TYPES:
            message = f"tensor '{name}' has the type {kind}, expected one of {', '.join(_TYPES)}"
            raise LoadFailed(message, Problem("ModelLoadFailed", message))
    return EngineTensors(
        kinds={name: _TYPES[kind][1] for name, kind in kinds.items()},
        outputs=tuple(name for name in names if not _is_input(engine, name)),
        on_host=frozenset(name for name in names if _is_on_host(engine, name)),
    )


def graph_of(engine: Any) -> ModelGraph:
    inputs: list[GraphTensor] = []
    outputs: list[GraphTensor] = []
    for name in _names(engine):
        kind = engine.get_tensor_dtype(name).name
        datatype = _TYPES[kind][0] if kind in _TYPES else kind
        shape = tuple(engine.get_tensor_shape(name))
        tensor = GraphTensor(name, datatype, shape, _is_on_host(engine, name))
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
        found.append(_profile(engine, number))
    return found


def _profile(engine: Any, number: int) -> Profile:
    smallest, optimal, largest, lowest, highest = {}, {}, {}, {}, {}
    for name in _names(engine):
        if not _is_input(engine, name):
            continue
        if _is_on_host(engine, name):
            # why not by keyword: the bindings call the number "name", and the name the number
            values = engine.get_tensor_profile_values(number, name)
            if values:
                lowest[name], highest[name] = tuple(values[0]), tuple(values[2])
        else:
            shapes = map(tuple, engine.get_tensor_profile_shape(name, number))
            smallest[name], optimal[name], largest[name] = shapes
    return Profile(number, smallest, optimal, largest, lowest, highest)


def largest_batch(engine: Any, profiles: Sequence[Profile]) -> int:
    """How many rows an engine with a variable first axis takes; 0 when it has none.

    Of a shape tensor the first value is the batch.
    """
    names = [name for name in _names(engine) if not _is_on_host(engine, name)]
    if any(tuple(engine.get_tensor_shape(name))[:1] != (-1,) for name in names):
        return 0
    return max(
        min(
            (shape[0] for shape in (*item.largest.values(), *item.highest.values()) if shape),
            default=0,
        )
        for item in profiles
    )


def _names(engine: Any) -> list[str]:
    return [engine.get_tensor_name(number) for number in range(engine.num_io_tensors)]


def _is_input(engine: Any, name: str) -> bool:
    return bool(engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT)


def _is_on_host(engine: Any, name: str) -> bool:
    return bool(engine.get_tensor_location(name) == trt.TensorLocation.HOST)
