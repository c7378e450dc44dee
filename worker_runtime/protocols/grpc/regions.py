"""The parameters of single inputs and outputs: shared memory and classification."""

from typing import Any

from worker_runtime.core.shared_memory import SharedMemory, Window
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.forms import OutputForm, Region

_REGION, _OFFSET, _BYTE_SIZE = (
    "shared_memory_region",
    "shared_memory_offset",
    "shared_memory_byte_size",
)
_CLASSIFICATION = "classification"
_UINT64 = 1 << 64


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


def output_forms(
    outputs: Any, memory: SharedMemory
) -> tuple[dict[str, OutputForm], dict[str, Window]]:
    """What the requested outputs ask for, by name; those that ask for nothing are left out.

    The second has the shared memory that they go to. Raises InvalidArgument, NotFound.
    """
    forms: dict[str, OutputForm] = {}
    windows: dict[str, Window] = {}
    for output in outputs:
        if not output.parameters:
            continue
        region = region_of(output.name, output.parameters)
        classes = _classes(output.parameters)
        if region is not None and classes:
            raise InvalidArgument(f"output can't set both '{_REGION}' and '{_CLASSIFICATION}'")
        if region is not None:
            windows[output.name] = memory.window(*region)
            forms[output.name] = OutputForm(region=region)
        elif classes:
            forms[output.name] = OutputForm(classes=classes)
    return forms, windows


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
