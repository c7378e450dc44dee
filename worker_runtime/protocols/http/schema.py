"""The JSON of an inference request, as typed structs: decoding is checking."""

import json
from typing import Any

import msgspec

from worker_runtime.errors import InvalidArgument

_ABSENT = msgspec.Raw(b"")


class InputJson(msgspec.Struct):
    name: str
    datatype: str
    shape: list[int]
    parameters: dict[str, Any] | None = None
    data: msgspec.Raw = _ABSENT


class OutputJson(msgspec.Struct):
    name: str
    parameters: dict[str, Any] | None = None


class RequestJson(msgspec.Struct):
    inputs: list[InputJson]
    id: str = ""
    outputs: list[OutputJson] | None = None
    parameters: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(RequestJson)


def decode_request(raw: bytes | bytearray | memoryview) -> RequestJson:
    """Parse the JSON part. Raises InvalidArgument saying where it is wrong."""
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"failed to parse the request JSON: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _decode_lenient(raw, error)


def _decode_lenient(raw: bytes | bytearray | memoryview, first: Exception) -> RequestJson:
    """NaN and Infinity are no JSON, but part of the protocol: try again with who knows them."""
    message = f"failed to parse the request JSON buffer: {first}"
    try:
        data = json.loads(bytes(raw))
        for item in data.get("inputs", []):
            if "data" in item:
                item["data"] = msgspec.Raw(json.dumps(item["data"]).encode())
        return msgspec.convert(data, RequestJson)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidArgument(message) from error
