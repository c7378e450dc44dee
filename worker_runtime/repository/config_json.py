"""The configuration as JSON in Triton's form: snake_case, defaults printed, 64-bit as numbers."""

from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from tritonclient.grpc import model_config_pb2

from worker_runtime.errors import ConfigInvalid, Problem

_WIDE = {
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT64,
}


def to_json(config: Any) -> dict[str, Any]:
    """The message as plain data."""
    data: dict[str, Any] = json_format.MessageToDict(
        config, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    _widen(data, config.DESCRIPTOR)
    return data


def from_json(data: dict[str, Any]) -> Any:
    """The message in ``data``. Raises ConfigInvalid."""
    config = model_config_pb2.ModelConfig()
    try:
        json_format.ParseDict(data, config)
    except json_format.ParseError as error:
        problem = Problem("ConfigInvalid", str(error))
        raise ConfigInvalid(f"configuration JSON: {error}", (problem,)) from error
    return config


def _widen(data: dict[str, Any], descriptor: Any) -> None:
    """Turn protobuf's strings for 64-bit integers into numbers, in place (map keys stay)."""
    for name, value in data.items():
        field = descriptor.fields_by_name[name]
        if field.cpp_type in _WIDE:
            data[name] = [int(v) for v in value] if isinstance(value, list) else int(value)
        elif field.message_type is not None:
            _widen_message(value, field.message_type)


def _widen_message(value: Any, message: Any) -> None:
    if message.GetOptions().map_entry:
        inner = message.fields_by_name["value"]
        for key, item in value.items():
            if inner.message_type is not None:
                _widen(item, inner.message_type)
            elif inner.cpp_type in _WIDE:
                value[key] = int(item)
    elif isinstance(value, list):
        for item in value:
            _widen(item, message)
    elif isinstance(value, dict):
        _widen(value, message)
