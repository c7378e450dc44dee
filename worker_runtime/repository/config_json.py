"""The configuration as JSON in Triton's form: snake_case, defaults printed, 64-bit as numbers.

Fields come in the order in which the message declares them, maps in the order of their keys.
"""

import math
import re
from typing import Any

import msgspec
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.repository.pbtxt import unknown_value
from worker_runtime.types.triton_messages import model_config_pb2

_NO_FIELD = re.compile(r'has no field named "([^"]*)"')
_WIDE = {
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT64,
}
_FLOATS = {FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE}
_WHOLE_BELOW = 1e6  # above, protobuf prints an exponent
# Where Triton, too, leaves protobuf's strings.
_LEFT_AS_TEXT = {
    "inference.ModelSequenceBatching.InitialState.dims",
    "inference.ModelInstanceGroup.SecondaryDevice.device_id",
    "inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim",
}


def to_json(config: Any) -> dict[str, Any]:
    """The message as plain data."""
    data: dict[str, Any] = json_format.MessageToDict(
        config, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return _widened(data, config.DESCRIPTOR)


def read_json(text: str | bytes) -> tuple[Any, frozenset[str]]:
    """The message in JSON text, and the fields that it gives. Raises ConfigInvalid."""
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(str(error)) from error
    if not isinstance(data, dict):
        raise _refused(": Root element must be a message.")
    return from_json(data), frozenset(data)


def from_json(data: dict[str, Any]) -> Any:
    """The message in ``data``; enum names in any case. Raises ConfigInvalid."""
    config = model_config_pb2.ModelConfig()
    try:
        json_format.ParseDict(_enums_upper(data, config.DESCRIPTOR), config)
        if odd := unknown_value(config):
            raise ValueError(odd)
    # why so wide: protobuf lets a few of Python's own errors through.
    except (json_format.ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        unknown = _NO_FIELD.search(str(error))
        raise _refused(f"{unknown[1]}: Cannot find field." if unknown else str(error)) from error
    return config


def _refused(why: str) -> ConfigInvalid:
    message = f"Invalid config override: {why}"
    return ConfigInvalid(message, (Problem("ConfigInvalid", message),))


def _enums_upper(value: Any, descriptor: Any) -> Any:
    """``value`` of message ``descriptor`` with enum names as the message spells them."""
    if isinstance(value, list):
        return [_enums_upper(item, descriptor) for item in value]
    if not isinstance(value, dict):
        return value
    if descriptor.GetOptions().map_entry:
        inner = descriptor.fields_by_name["value"].message_type
        return {key: _enums_upper(item, inner) if inner else item for key, item in value.items()}
    found = {}
    for key, item in value.items():
        field = descriptor.fields_by_name.get(key)
        if field is not None and field.enum_type is not None and isinstance(item, str):
            found[key] = item.upper()
        elif field is not None and field.message_type is not None:
            found[key] = _enums_upper(item, field.message_type)
        else:
            found[key] = item
    return found


def _widened(data: dict[str, Any], descriptor: Any) -> dict[str, Any]:
    """The same with numbers for protobuf's strings of 64-bit integers (map keys stay)."""
    return {
        field.name: _value(data[field.name], field)
        for field in descriptor.fields
        if field.name in data
    }


def _shortest(value: Any) -> Any:
    """Whole numbers without a fraction, as protobuf prints them for Triton."""
    if isinstance(value, list):
        return [_shortest(item) for item in value]
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_BELOW
    minus_zero = value == 0 and math.copysign(1, value) < 0  # an integer cannot be that
    return int(value) if whole and not minus_zero else value


def _value(value: Any, field: Any) -> Any:
    if field.cpp_type in _WIDE and field.full_name not in _LEFT_AS_TEXT:
        return [int(item) for item in value] if isinstance(value, list) else int(value)
    message = field.message_type
    if message is None:
        return _shortest(value) if field.cpp_type in _FLOATS else value
    if message.GetOptions().map_entry:
        inner = message.fields_by_name["value"]
        return {key: _value(item, inner) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_widened(item, message) for item in value]
    return _widened(value, message)
