"""Places where an ONNX model runs: plain ones on the CPU, bound ones on devices."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime as ort

from worker_runtime.backends.base import Array
from worker_runtime.backends.onnxruntime.sessions import NO_GRAPH, execution_fault
from worker_runtime.errors import InvalidArgument, Unavailable

_MOST_GRAPHS = 64  # each holds memory on the device; more sets of shapes run without one


class OnnxInstance:
    def __init__(self, session: Any, options: Any = None) -> None:
        # why the inner session: the wrapper's checks repeat ours, and cost as much as a tiny model.
        self._run = session._sess.run
        self._options = options
        self._strings = strings_of(session)

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if self._strings:
            for name in self._strings & inputs.keys():
                inputs[name] = decoded(name, inputs[name])
        try:
            arrays: list[Array] = self._run(outputs, inputs, self._options)
        except Unavailable:
            raise
        except Exception as error:  # why so wide: ONNX Runtime's share no base class but this
            raise execution_fault(error) from error
        return arrays

    def close(self) -> None:
        """Let go of the session, which may hold gigabytes, whoever still holds this instance."""
        self._run = _closed


class BoundInstance:
    """For a session on a device: each tensor is copied there and back once, and no other.

    ``device`` is ONNX Runtime's name for where outputs are made: cuda.
    """

    def __init__(self, session: Any, device: str, number: int, options: Any = None) -> None:
        self._session = session
        self._device = device
        self._number = number
        self._options = options

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        session = self._session
        if session is None:
            _closed()
        try:
            binding = session.io_binding()
            for name, array in inputs.items():
                binding.bind_cpu_input(name, array)
            for name in outputs:
                binding.bind_output(name, self._device, self._number)
            session.run_with_iobinding(binding, self._options)
            arrays: list[Array] = binding.copy_outputs_to_cpu()
        except Exception as error:  # why so wide: as above
            raise execution_fault(error, on_gpu=True) from error
        return arrays

    def close(self) -> None:
        """As of an OnnxInstance."""
        self._session = None


class GraphInstance(BoundInstance):
    """For a session that captures CUDA graphs: fixed memory for each set of shapes.

    A graph replays what was captured with the very addresses of that time, so inputs are copied
    into them. Which shapes the outputs have is known once they have been calculated without a
    graph. ``options_for`` gives the run options of a graph by its number. Raises, as an execution
    does, what ONNX Runtime says when the model cannot be captured.
    """

    def __init__(
        self, session: Any, device: str, number: int, options_for: Callable[[int], Any]
    ) -> None:
        super().__init__(session, device, number, options_for(NO_GRAPH))
        self._options_for = options_for
        self._fixed: dict[tuple[Any, ...], _Fixed] = {}

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        key = (*((name, item.shape, item.dtype.str) for name, item in inputs.items()), *outputs)
        fixed = self._fixed.get(key)
        if fixed is not None and self._session is not None:
            try:
                return fixed.run(self._session, inputs)
            except Exception as error:  # why so wide: as above
                raise execution_fault(error, on_gpu=True) from error
        found = super().execute(inputs, outputs)
        if len(self._fixed) < _MOST_GRAPHS:
            self._fixed[key] = _Fixed(
                self._reserved(inputs),
                self._reserved(dict(zip(outputs, found, strict=True))),
                self._options_for(len(self._fixed) + 1),
            )
        return found

    def _reserved(self, like: Mapping[str, Array]) -> dict[str, Any]:
        make = ort.OrtValue.ortvalue_from_shape_and_type
        return {
            name: make(list(item.shape), item.dtype, self._device, self._number)
            for name, item in like.items()
        }

    def close(self) -> None:
        self._fixed = {}
        super().close()


class _Fixed:
    """The memory of one graph, and the binding to it."""

    def __init__(self, inputs: dict[str, Any], outputs: dict[str, Any], options: Any) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._options = options
        self._binding: Any = None

    def run(self, session: Any, inputs: Mapping[str, Array]) -> list[Array]:
        if self._binding is None:
            self._binding = session.io_binding()
            for name, value in self._inputs.items():
                self._binding.bind_ortvalue_input(name, value)
            for name, value in self._outputs.items():
                self._binding.bind_ortvalue_output(name, value)
        for name, item in inputs.items():
            self._inputs[name].update_inplace(item)
        session.run_with_iobinding(self._binding, self._options)
        return [_own(value.numpy()) for value in self._outputs.values()]


def _own(array: Array) -> Array:
    """Without a device between them, an array may still be the graph's memory."""
    return array if array.flags.owndata else array.copy()


def strings_of(session: Any) -> set[str]:
    """The inputs that hold texts."""
    return {item.name for item in session.get_inputs() if item.type == "tensor(string)"}


def bindable(session: Any) -> bool:
    """No tensor of it holds texts: those cannot be on a device."""
    tensors = (*session.get_inputs(), *session.get_outputs())
    return all(item.type.startswith("tensor(") and "string" not in item.type for item in tensors)


def decoded(name: str, array: Array) -> Array:
    """ONNX Runtime takes text; the wire has bytes."""
    flat = array.reshape(-1)
    try:
        text = [item.decode() if isinstance(item, bytes) else item for item in flat]
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"input '{name}' has an element that is not UTF-8: {error}"
        ) from error
    found = np.empty(len(text), dtype=object)
    found[:] = text
    return found.reshape(array.shape)


def _closed(*_arguments: Any) -> Any:
    raise Unavailable("the model was unloaded")
