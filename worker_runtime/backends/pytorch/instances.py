"""Places where a PyTorch module runs: on the CPU, and in lanes of a GPU."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

import numpy as np
import torch
from msgspec import Struct

from worker_runtime.backends.base import Array, BatchInput, LoadSpec
from worker_runtime.backends.device.copies import empty_like
from worker_runtime.backends.device.lane import LANES, LaneInstance
from worker_runtime.backends.device.padding import front, of_rows
from worker_runtime.backends.graph_sizes import GraphSize
from worker_runtime.backends.pytorch.batch_sizes import LearnedSizes, Shapes
from worker_runtime.backends.pytorch.tensors import (
    dense,
    input_order,
    keywords,
    output_positions,
    to_numpy,
    to_torch,
)
from worker_runtime.errors import BackendFailed, RuntimeFault, Unavailable
from worker_runtime.types.tensor import BY_NUMBER, DataType

Module = Callable[..., Any]
_JIT: Any = torch.jit  # why: torch has no types for what is used of it here


class Switches(Struct, frozen=True):
    """The model's parameters, as Triton's backend spells them."""

    inference_mode: bool
    optimized: bool
    share_weights: bool
    clean_cache: bool
    cudnn: bool
    intra_threads: int


class TorchCall:
    """One module on one device, and how it is called."""

    def __init__(self, spec: LoadSpec, module: Module, do: Switches) -> None:
        config = spec.config
        self._module = module
        self._do = do
        self.types = {item.name: BY_NUMBER[item.data_type] for item in config.input}
        self._keywords = keywords([item.name for item in config.input])
        self._order = input_order(
            [item.name for item in config.input if item.name not in self._keywords],
            arguments(module),
            spec.name,
        )
        self._positions = output_positions([item.name for item in config.output], spec.name)
        self._as_dict = takes_dict(module)

    def results(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
        """What the module gives for the wanted outputs. Raises what modules raise."""
        with contextlib.ExitStack() as stack:
            mode = torch.inference_mode() if self._do.inference_mode else torch.no_grad()
            stack.enter_context(mode)
            stack.enter_context(_JIT.optimized_execution(self._do.optimized))
            if not self._do.cudnn:
                stack.enter_context(torch.backends.cudnn.flags(enabled=False))
            return self._picked(self._call(tensors), outputs)

    def close(self) -> None:
        """Let go of the module, which may hold gigabytes, whoever still holds this."""
        self._module = _closed

    def _call(self, tensors: Mapping[str, Any]) -> Any:
        if self._as_dict:
            return self._module(dict(tensors))
        named = {key: tensors[name] for name, key in self._keywords.items() if name in tensors}
        return self._module(*[tensors[name] for name in self._order if name in tensors], **named)

    def _picked(self, given: Any, outputs: Sequence[str]) -> list[Any]:
        """The wanted outputs of a tensor, a list, a tuple or a dict."""
        if isinstance(given, dict):
            missing = [name for name in outputs if name not in given]
            if missing:
                raise BackendFailed(
                    f"the model gave no output '{missing[0]}', but {', '.join(map(str, given))}"
                )
            return [given[name] for name in outputs]
        if isinstance(given, list) and given and isinstance(given[0], str):
            given = (given,)
        values = given if isinstance(given, list | tuple) else (given,)
        found = []
        for name in outputs:
            position = self._positions[name]
            if position >= len(values):
                raise BackendFailed(
                    f"output '{name}' is number {position}, but the model gave {len(values)}"
                )
            found.append(values[position])
        return found


class TorchInstance:
    """One place of execution on the CPU."""

    def __init__(self, call: TorchCall, intra_threads: int) -> None:
        self._call = call
        self._intra_threads = intra_threads
        self._threads_set = False

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if not self._threads_set:
            # why here: torch keeps this number per thread, and this is the instance's.
            torch.set_num_threads(self._intra_threads)
            self._threads_set = True
        types = self._call.types
        tensors = {
            name: to_torch(name, array, types[name].name if name in types else "")
            for name, array in inputs.items()
        }
        try:
            made = self._call.results(tensors, outputs)
        except Exception as error:  # why so wide: modules raise whatever they like
            raise execution_fault(error) from error
        return [to_numpy(name, value) for name, value in zip(outputs, made, strict=True)]

    def close(self) -> None:
        """As of a TorchCall."""
        self._call.close()


class TorchProgram:
    """A module as one lane of a GPU runs it: a Program. ``device`` may be the CPU.

    Batches may be padded to other ``sizes``; empty: none is.
    """

    def __init__(
        self,
        call: TorchCall,
        device: torch.device,
        sizes: Sequence[GraphSize] = (),
        *,
        clean_cache: bool = False,
    ) -> None:
        self._call = call
        self._device = device
        self._clean_cache = clean_cache
        self._sizes = LearnedSizes(sizes)
        self._given: dict[str, Any] = {}  # what the module gets: all rows of the batch that runs
        self._row_shapes: Shapes = ()
        self._rows = self._whole = 0  # how many of them were sent, and how many there are

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:
        """There are no graphs."""

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 # whichever are wanted
        self._size(inputs)
        padded = self._whole if self._whole != self._rows else 0
        self._given = {
            item.name: empty_like(of_rows(item, padded), self._device)
            if item.datatype.item_size
            else to_torch(item.name, _texts(item), item.datatype.name)
            for item in inputs
        }
        if not padded:
            return self._given
        for tensor in self._given.values():
            tensor[self._rows :] = 0  # an index into any table
        return {name: front(tensor, self._rows) for name, tensor in self._given.items()}

    def _size(self, inputs: Sequence[BatchInput]) -> None:
        """How many rows there are to be. Texts are not padded."""
        self._row_shapes = tuple([item.shape[1:] for item in inputs])
        self._rows = self._whole = inputs[0].shape[0] if inputs and inputs[0].shape else 0
        if all(item.datatype.item_size for item in inputs):
            self._whole = self._sizes.rows(self._row_shapes, self._rows, monotonic())

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:  # noqa: ARG002 # they are parts of what it gets
        started = monotonic()
        made = self._call.results(self._given, outputs)
        now = monotonic()
        self._sizes.ran(self._row_shapes, self._whole, now - started, now)
        values = [dense(name, value) for name, value in zip(outputs, made, strict=True)]
        if self._whole == self._rows:
            return values
        return [self._sent(value) for value in values]

    def _sent(self, value: Any) -> Any:
        """The rows of an output that belong to requests."""
        return front(value, self._rows) if value.ndim and len(value) == self._whole else value

    def finish(self) -> None:
        self._given = {}
        if self._clean_cache and self._device.type == "cuda":
            torch.cuda.empty_cache()

    def fault(self, error: Exception) -> RuntimeFault:
        self._given = {}
        return execution_fault(error)


class TorchDeviceInstance(LaneInstance):
    """A DeviceInstance: its lanes share the module, which sees one batch after the other."""

    def __init__(
        self,
        call: TorchCall,
        device: torch.device,
        sizes: Sequence[GraphSize] = (),
        *,
        clean_cache: bool,
    ) -> None:
        # why one for each: what PyTorch has planned, it has planned for one thread
        super().__init__(
            device,
            [TorchProgram(call, device, sizes, clean_cache=clean_cache) for _ in range(LANES)],
        )
        self._call = call

    def datatype(self, name: str, array: Array) -> DataType:
        return self._call.types.get(name) or super().datatype(name, array)

    def close(self) -> None:
        """As of a TorchCall."""
        self._call.close()


def _texts(item: BatchInput) -> Array:
    """The parts of a BYTES input as one array of its shape."""
    parts: list[Any] = item.parts  # those of BYTES are arrays
    return np.concatenate([part.reshape(-1) for part in parts]).reshape(item.shape)


def execution_fault(error: Exception) -> RuntimeFault:
    """What an execution raised, as clients are told."""
    if isinstance(error, RuntimeFault):
        return error
    return BackendFailed(f"PyTorch execute failure: {error}")


def _closed(*_arguments: Any) -> Any:
    raise Unavailable("the model was unloaded")


def arguments(module: Module) -> list[str]:
    """The names of forward's arguments, [] where the model does not tell."""
    schema = getattr(getattr(module, "forward", None), "schema", None)
    if schema is not None:
        return [argument.name for argument in schema.arguments if argument.name != "self"]
    graph = getattr(module, "graph", None)
    if graph is None or not hasattr(graph, "nodes"):
        return []
    return [node.target for node in graph.nodes if getattr(node, "op", "") == "placeholder"]


def takes_dict(module: Module) -> bool:
    """Its one argument is a Dict[str, Tensor]."""
    schema = getattr(getattr(module, "forward", None), "schema", None)
    if schema is None:
        return False
    given = [argument for argument in schema.arguments if argument.name != "self"]
    return len(given) == 1 and given[0].type.kind() == "DictType"
