"""Places where an ONNX model runs with all its tensors on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from worker_runtime.backends.base import Array
from worker_runtime.backends.onnxruntime.sessions import execution_fault
from worker_runtime.errors import InvalidArgument, Unavailable


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
