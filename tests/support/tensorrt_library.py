"""A stand-in for TensorRT 10, and for PyTorch's CUDA graphs, where there is no GPU.

Engines work with numpy at the addresses that they are given, and insist on what the library does:
tensors of the device lie in its memory and shape tensors do not, a context has memory to work in
and shapes that its profile takes, a graph replays what was captured, where it was.
"""

import ctypes
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
_KINDS = {"FLOAT": np.dtype("<f4"), "INT32": np.dtype("<i4"), "INT64": np.dtype("<i8")}
_SCRATCH = 64


class IllegalAccess(AssertionError):
    """Where the library would read or write memory of the other side, or none at all."""


class Kind(NamedTuple):
    name: str


class Tensor(NamedTuple):
    """``bounds``, for each profile: the smallest, best and largest shape of an input.

    Of one on the host its values.
    """

    name: str
    shape: Shape
    bounds: Sequence[tuple[Shape, Shape, Shape]] = ()
    kind: str = "FLOAT"
    host: bool = False


class Memory:
    """The device's: all that was ever reserved there, full of what nobody wrote."""

    def __init__(self) -> None:
        self._held: list[torch.Tensor] = []

    def reserve(self, shape: Sequence[int], kind: torch.dtype) -> torch.Tensor:
        made = torch.empty(tuple(shape), dtype=kind)
        made.view(torch.uint8).fill_(0x7F) if made.dim() else made.fill_(0)
        self._held.append(made)
        return made

    def holds(self, address: int, size: int) -> bool:
        return any(
            item.data_ptr() <= address and address + size <= item.data_ptr() + item.nbytes
            for item in self._held
        )


class Engine:
    """``outline`` tells the outputs' shapes from those of inputs and the shape tensors' values.

    ``work`` makes the outputs of the inputs. Memory of a device is the library's.
    """

    device_memory_size_v2 = _SCRATCH

    def __init__(
        self,
        memory: Memory,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        outline: Callable[[Mapping[str, Shape], Mapping[str, Array]], Mapping[str, Shape]],
        work: Callable[[Mapping[str, Array]], Mapping[str, Array]],
    ) -> None:
        self.memory = memory
        self.inputs = {tensor.name: tensor for tensor in inputs}
        self.outputs = {tensor.name: tensor for tensor in outputs}
        self.tensors = {**self.inputs, **self.outputs}
        self.outline, self.work = outline, work
        self.num_io_tensors = len(self.tensors)
        self.num_optimization_profiles = len(inputs[0].bounds)
        self.contexts: list[Context] = []

    def create_execution_context(self, strategy: str) -> "Context":
        assert strategy == "managed"
        self.contexts.append(Context(self))
        return self.contexts[-1]

    def get_tensor_name(self, number: int) -> str:
        return list(self.tensors)[number]

    def get_tensor_mode(self, name: str) -> str:
        return "in" if name in self.inputs else "out"

    def get_tensor_location(self, name: str) -> str:
        return "host" if self.tensors[name].host else "device"

    def get_tensor_dtype(self, name: str) -> Kind:
        return Kind(self.tensors[name].kind)

    def get_tensor_shape(self, name: str) -> Shape:
        return self.tensors[name].shape

    def get_tensor_profile_shape(self, name: str, number: int) -> list[Shape]:
        assert not self.tensors[name].host, "asked for the shapes of a shape tensor"
        return list(self.inputs[name].bounds[number])

    def get_tensor_profile_values(self, number: int, name: str) -> list[list[int]]:
        if not self.tensors[name].host:
            raise RuntimeError(f"{name} is no shape tensor")
        return [list(values) for values in self.inputs[name].bounds[number]]


class Context:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.profile = -1
        self.runs = 0
        self.shapes: dict[str, Shape] = {}
        self._addresses: dict[str, int] = {}
        self._scratch = False
        self._settled = False

    def set_device_memory(self, address: int, size: int) -> None:
        assert size >= self.engine.device_memory_size_v2
        self._scratch = self._is_device(address, size)

    def set_optimization_profile_async(self, number: int, stream: int) -> bool:
        self.profile = number
        return True

    def set_input_shape(self, name: str, shape: Shape) -> bool:
        tensor = self.engine.inputs[name]
        if tensor.host:
            return shape == tensor.shape
        low, _, high = tensor.bounds[self.profile]
        fits = len(shape) == len(low) and all(
            least <= got <= most for least, got, most in zip(low, shape, high, strict=True)
        )
        self._settled = self._settled and self.shapes.get(name) == shape
        self.shapes[name] = shape if fits else ()
        return fits

    def set_tensor_address(self, name: str, address: int) -> bool:
        self._addresses[name] = address
        return True

    def infer_shapes(self) -> list[str]:
        missing = [
            name
            for name, tensor in self.engine.inputs.items()
            if (tensor.host and name not in self._addresses)
            or (not tensor.host and name not in self.shapes)
        ]
        if not missing:
            self._outline()
        return missing

    def get_tensor_shape(self, name: str) -> Shape:
        return self._outline()[name]

    def execute_async_v3(self, stream: int) -> bool:
        if not self._scratch:
            raise IllegalAccess("the context has no memory to work in")
        shapes = self._outline()
        work = partial(self._work, dict(self._addresses), {**self.shapes, **shapes})
        if Graph.capturing is not None:
            assert self._settled, "what the context does for new shapes would be captured"
            Graph.capturing.work.append(work)  # a device does nothing while it is captured
        else:
            self._settled = True
            self.runs += 1
            work()
        return True

    def _outline(self) -> dict[str, Shape]:
        values = {
            name: self._array(name, tensor.shape, self._addresses)
            for name, tensor in self.engine.inputs.items()
            if tensor.host
        }
        return dict(self.engine.outline(self.shapes, values))

    def _work(self, addresses: Mapping[str, int], shapes: Mapping[str, Shape]) -> None:
        now = {name: self.shapes[name] for name in self.shapes}
        assert all(shapes[name] == shape for name, shape in now.items()), (
            "the device holds what belongs to other shapes"
        )
        given = {
            name: self._array(name, shapes.get(name, tensor.shape), addresses)
            for name, tensor in self.engine.inputs.items()
        }
        for name, found in self.engine.work(given).items():
            self._array(name, shapes[name], addresses)[...] = found

    def _array(self, name: str, shape: Shape, addresses: Mapping[str, int]) -> Array:
        tensor = self.engine.tensors[name]
        count = int(np.prod(shape))
        size = count * _KINDS[tensor.kind].itemsize
        address = addresses[name]
        if not address or self._is_device(address, size) is tensor.host:
            raise IllegalAccess(f"'{name}' is at {address:#x}")
        held = (ctypes.c_byte * size).from_address(address)
        return np.frombuffer(held, _KINDS[tensor.kind]).reshape(shape)

    def _is_device(self, address: int, size: int) -> bool:
        return self.engine.memory.holds(address, size)


class Graph:
    """As torch.cuda.CUDAGraph. ``fails`` is what the capture of every one says at its end."""

    capturing: "Graph | None" = None
    fails = ""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []

    def capture_begin(self, *, capture_error_mode: str) -> None:
        assert capture_error_mode == "thread_local"
        Graph.capturing = self

    def capture_end(self) -> None:
        Graph.capturing = None
        if Graph.fails:
            raise RuntimeError(Graph.fails)

    def replay(self) -> None:
        for work in self.work:
            work()


class Library(types.ModuleType):
    """The module ``tensorrt``: one engine, in every file that says ``plan``."""

    __version__ = "10.0"

    def __init__(self) -> None:
        super().__init__("tensorrt")
        self.memory = Memory()
        self.engine = doubler(self.memory)
        self.registered: list[str] = []
        self.plugins_work = True
        self.TensorIOMode = types.SimpleNamespace(INPUT="in")
        self.TensorLocation = types.SimpleNamespace(HOST="host")
        self.ExecutionContextAllocationStrategy = types.SimpleNamespace(USER_MANAGED="managed")
        self.Logger = _Logger
        self.Runtime = partial(_Runtime, self)

    def init_libnvinfer_plugins(self, logger: Any, namespace: str) -> bool:
        self.registered.append("TensorRT" + namespace)
        return self.plugins_work


class _Logger:
    WARNING = 1

    def __init__(self, level: int) -> None: ...


class _Runtime:
    def __init__(self, library: Library, logger: _Logger) -> None:
        self._library = library

    def deserialize_cuda_engine(self, data: bytes) -> Engine | None:
        assert self._library.registered, "an engine that needs a plugin could not be read"
        return self._library.engine if data == b"plan" else None


def doubler(memory: Memory) -> Engine:
    """x [-1, 3] to y [-1, 3]; profile 0 takes 1 to 2 rows, profile 1 takes 3 to 8."""
    bounds = [((1, 3), (2, 3), (2, 3)), ((3, 3), (8, 3), (8, 3))]
    return Engine(
        memory,
        [Tensor("x", (-1, 3), bounds)],
        [Tensor("y", (-1, 3))],
        lambda shapes, _: {"y": shapes["x"]},
        lambda given: {"y": 2 * given["x"]},
    )


def resizer(memory: Memory, values: np.dtype[Any] = _KINDS["INT32"]) -> Engine:
    """x [-1, 3] and the shape tensor to [2] give y, which has that shape, and seen, which is it."""
    kind = next(name for name, dtype in _KINDS.items() if dtype == values)
    return Engine(
        memory,
        [
            Tensor("x", (-1, 3), [((1, 3), (2, 3), (4, 3))]),
            Tensor("to", (2,), [((1, 1), (2, 3), (4, 8))], kind, host=True),
        ],
        [Tensor("y", (-1, -1)), Tensor("seen", (2,), kind=kind, host=True)],
        lambda _, values: {"y": tuple(values["to"].tolist()), "seen": (2,)},
        lambda given: {
            "y": np.resize(given["x"], given["to"].tolist()),
            "seen": given["to"],
        },
    )
