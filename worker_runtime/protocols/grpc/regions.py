"""The parameters of single inputs and outputs: shared memory and classification."""

from typing import Any, NamedTuple

from worker_runtime.core.shared_memory import SharedMemory, Window
from worker_runtime.errors import Internal, InvalidArgument

_REGION, _OFFSET, _BYTE_SIZE = (
    "shared_memory_region",
    "shared_memory_offset",
    "shared_memory_byte_size",
)
_CLASSIFICATION = "classification"
_UINT64 = 1 << 64


class Region(NamedTuple):
    name: str
    offset: int
    byte_size: int


class OutputForm(NamedTuple):
    """How one output is written: as its ``classes`` best classes, or into ``window``."""

    classes: int = 0
    window: Window | None = None


def region_of(tensor: str, parameters: Any) -> Region | None:
    """The shared memory that a tensor's parameters name. Raises InvalidArgument."""
    name = _parameter(tensor, parameters, _REGION, "string_param")
    for key in (_OFFSET, _BYTE_SIZE):
        if name is None and key in parameters:
            raise InvalidArgument(
                f"'{key}' can not be specified without '{_REGION}' parameter for tensor '{tensor}'"
            )
    if name is None:
        return None
    offset = _parameter(tensor, parameters, _OFFSET, "int64_param") or 0
    byte_size = _parameter(tensor, parameters, _BYTE_SIZE, "int64_param")
    if byte_size is None:
        raise InvalidArgument(
            f"'{_BYTE_SIZE}' must be specified along with '{_REGION}' parameter for tensor "
            f"'{tensor}'"
        )
    # why the modulo: Triton keeps both unsigned, so a negative one lies far behind the end.
    return Region(name, offset % _UINT64, byte_size % _UINT64)


def output_forms(outputs: Any, memory: SharedMemory) -> dict[str, OutputForm]:
    """What the requested outputs ask for, by name; those that ask for nothing are left out."""
    forms: dict[str, OutputForm] = {}
    for output in outputs:
        if not output.parameters:
            continue
        region = region_of(output.name, output.parameters)
        classes = _classes(output.parameters)
        if region is not None and classes:
            raise InvalidArgument(f"output can't set both '{_REGION}' and '{_CLASSIFICATION}'")
        if region is not None:
            window = memory.window(region.name, region.offset, region.byte_size)
            forms[output.name] = OutputForm(window=window)
        elif classes:
            forms[output.name] = OutputForm(classes)
    return forms


def fill(window: Window, name: str, raw: Any, size: int) -> None:
    """Put an output where the client wants it. Raises Internal when it is too large."""
    if size > window.byte_size:
        raise Internal(
            f"shared memory size specified with the request for output '{name}' "
            f"({window.byte_size} bytes) should be at least {size} bytes to hold the results"
        )
    window.write(raw)


def _classes(parameters: Any) -> int:
    if _CLASSIFICATION not in parameters:
        return 0
    value = parameters[_CLASSIFICATION]
    if value.WhichOneof("parameter_choice") != "int64_param":
        raise InvalidArgument(
            f"invalid value type for '{_CLASSIFICATION}' parameter, expected int64_param"
        )
    if value.int64_param <= 0:
        raise InvalidArgument(f"invalid value for '{_CLASSIFICATION}' parameter, expected >= 1")
    return int(value.int64_param)


def _parameter(tensor: str, parameters: Any, key: str, kind: str) -> Any:
    if key not in parameters:
        return None
    value = parameters[key]
    if value.WhichOneof("parameter_choice") != kind:
        raise InvalidArgument(
            f"invalid value type for '{key}' parameter for tensor '{tensor}', expected {kind}."
        )
    return getattr(value, kind)
