"""Where the data of an input is, and where outputs go: raw, in a typed field, in shared memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from worker_runtime.core.shared_memory import SharedMemory, Window
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.forms import OutputForm, Region
from worker_runtime.protocols.grpc.large_requests import Typed
from worker_runtime.types.tensor import BY_NAME, MANY_STRINGS, string_array

_UNKNOWN_TYPE = "<invalid>"  # how Triton writes the name of a data type that it does not know

# The typed fields in the order in which they are looked at: the data types that each one carries,
# the one it is named after last.
_FIELDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("bool_contents", ("BOOL",)),
    ("int_contents", ("INT8", "INT16", "INT32")),
    ("int64_contents", ("INT64",)),
    ("uint_contents", ("UINT8", "UINT16", "UINT32")),
    ("uint64_contents", ("UINT64",)),
    ("fp32_contents", ("FP32",)),
    ("fp64_contents", ("FP64",)),
    ("bytes_contents", ("BYTES",)),
)
# Fields narrower than their values: what does not fit is cut off, as a C cast would.
_NARROWED = {"INT8": "<i4", "INT16": "<i4", "UINT8": "<u4", "UINT16": "<u4"}
_REGION, _OFFSET, _BYTE_SIZE = (
    "shared_memory_region",
    "shared_memory_offset",
    "shared_memory_byte_size",
)
_CLASSIFICATION = "classification"
_UINT64 = 1 << 64


def known_type(name: str) -> str:
    """A data type's name as the core sees it."""
    return name if name in BY_NAME else _UNKNOWN_TYPE


def gather(
    message: Any,
    raw: Sequence[Any],
    memory: SharedMemory,
    *,
    on_device: bool,
    typed: Sequence[Typed | None] | None = None,
) -> list[Any]:
    """A buffer for each input, in the order of the message; typed BYTES are object arrays, many of
    them the message's own sequence.

    ``raw`` are its raw tensors, ``typed`` are the typed fields of each input where these are not in
    the message. Raises InvalidArgument, and what shared memory raises.
    """
    used, buffers = 0, list[Any]()
    for index, item in enumerate(message.inputs):
        region = region_of(item.name, item.parameters) if item.parameters else None
        contents: Any
        if typed is None:
            contents = item.contents if item.HasField("contents") else None
        else:
            contents = typed[index]
        if region is not None:
            if contents is not None:
                raise InvalidArgument(
                    "unexpected 'content' provided when using shared memory for input tensor "
                    f"'{item.name}' for model '{message.model_name}'"
                )
            buffers.append(memory.view(*region, on_device=on_device))
        elif contents is not None:
            if raw:
                raise InvalidArgument(
                    "contents field must not be specified when using raw_input_contents for "
                    f"'{item.name}' for model '{message.model_name}'"
                )
            buffers.append(_typed(item, contents, message.model_name))
        elif used < len(raw):
            buffers.append(raw[used])
            used += 1
        else:
            raise InvalidArgument(
                f"unable to find data for input tensor '{item.name}' for model "
                f"'{message.model_name}' in request."
            )
    return buffers


def _typed(item: Any, contents: Any, model: str) -> Any:
    """What the typed fields of an input hold. Raises InvalidArgument."""
    found: Any = b""
    expected = known_type(item.datatype)
    for field, carried in _FIELDS:
        values = getattr(contents, field)
        if not values:
            continue
        prefix = (
            f"unexpected explicit tensor data for input tensor '{item.name}' for model '{model}'"
        )
        if found:
            raise InvalidArgument(f"{prefix}, binary data was already supplied.")
        if expected not in carried:
            raise InvalidArgument(
                f"{prefix} of type '{carried[-1]}', expected datatype '{expected}'"
            )
        found = _packed(values, expected)
    return found


def _packed(values: Any, datatype: str) -> Any:
    if isinstance(values, memoryview):
        return values
    if datatype == "BYTES":
        if len(values) > MANY_STRINGS:
            return values
        return string_array(list(values))
    dtype = BY_NAME[datatype].dtype
    wide = _NARROWED.get(datatype)
    if wide is not None:
        return np.array(values, wide).astype(dtype).tobytes()
    return np.array(values, dtype).tobytes()


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
