"""The configuration as JSON in Triton's form: snake_case, defaults printed, 64-bit as numbers.

Fields come in the order in which the message declares them, maps in the order of their keys.
"""

from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from tritonclient.grpc import model_config_pb2

from worker_runtime.errors import ConfigInvalid, Problem

_WIDE = {
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT64,
}
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


def from_json(data: dict[str, Any]) -> Any:
    """The message in ``data``. Raises ConfigInvalid."""
    config = model_config_pb2.ModelConfig()
    try:
        json_format.ParseDict(data, config)
    except json_format.ParseError as error:
        problem = Problem("ConfigInvalid", str(error))
        raise ConfigInvalid(f"configuration JSON: {error}", (problem,)) from error
    return config


def _widened(data: dict[str, Any], descriptor: Any) -> dict[str, Any]:
    """The same with numbers for protobuf's strings of 64-bit integers (map keys stay)."""
    return {
        field.name: _value(data[field.name], field)
        for field in descriptor.fields
        if field.name in data
    }


def _value(value: Any, field: Any) -> Any:
    if field.cpp_type in _WIDE and field.full_name not in _LEFT_AS_TEXT:
        return [int(item) for item in value] if isinstance(value, list) else int(value)
    message = field.message_type
    if message is None:
        return value
    if message.GetOptions().map_entry:
        inner = message.fields_by_name["value"]
        return {key: _value(item, inner) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_widened(item, message) for item in value]
    return _widened(value, message)
