"""What backends ask of a configuration and read of its parameters, in the words of Triton's own."""

import re
from typing import Any

from worker_runtime.errors import ConfigInvalid, LoadFailed, Problem
from worker_runtime.types.tensor import BY_NUMBER

_TRUE, _FALSE = {"true", "on", "1"}, {"false", "off", "0"}
_INTEGER = re.compile(r"\s*([+-]?\d+)")


def refuse_unless(condition: bool, text: str) -> None:
    """Raises LoadFailed."""
    if not condition:
        raise LoadFailed(text)


def shown(shape: Any) -> str:
    """A shape as error texts print it: [1,-1]."""
    return "[" + ",".join(map(str, shape)) + "]"


def seen_dims(tensor: Any) -> tuple[int, ...]:
    """The dims that the model itself sees: after a reshape."""
    return tuple(tensor.reshape.shape) if tensor.HasField("reshape") else tuple(tensor.dims)


def expect_tensor(place: str, kind: str, tensor: Any, name: str, data_type: str) -> None:
    """``place`` is first, second, ...; ``kind`` input or output. Raises LoadFailed."""
    refuse_unless(
        tensor.name == name,
        f"expected {place} {kind} tensor name to be {name}, got {tensor.name}",
    )
    found = BY_NUMBER[tensor.data_type]
    refuse_unless(
        found.name == data_type,
        f"expected {name} datatype to be {data_type}, got {found.config_name}",
    )


def expect_dims(tensor: Any, dims: tuple[int, ...]) -> None:
    """Raises LoadFailed."""
    found = tuple(tensor.dims)
    refuse_unless(
        found == dims, f"expected {tensor.name} shape to be {shown(dims)}, got {shown(found)}"
    )


def expect_count(tensors: Any, count: int, kind: str) -> None:
    """Raises LoadFailed."""
    plural = kind if count == 1 else f"{kind}s"
    refuse_unless(len(tensors) == count, f"expected {count} {plural}, got {len(tensors)}")


def whole_number(parameters: Any, key: str) -> int:
    """A parameter that holds digits only; 0 when it is absent or does not."""
    text = parameters.get(key, "")
    return int(text) if text.isdigit() else 0


def as_flag(value: str) -> bool:
    """Raises ConfigInvalid."""
    lower = value.lower()
    if lower in _TRUE:
        return True
    if lower in _FALSE:
        return False
    raise bad_value(f"failed to convert '{value}' to boolean")


def as_integer(value: str) -> int:
    """The whole number that a text begins with. Raises ConfigInvalid."""
    found = _INTEGER.match(value)
    if found is None:
        raise bad_value(f"failed to convert '{value}' to integral number")
    return int(found[1])


def bad_value(message: str, field: str = "parameters") -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field=field),))
