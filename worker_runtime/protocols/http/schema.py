"""The JSON of an inference request, as typed structs: decoding is checking.

What the quick decoder refuses, or would read otherwise than Triton does (a member given twice, a
negative size), is read again member by member: ``thorough`` knows what to say about it.
"""

import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import read, read_again
from worker_runtime.protocols.http.json_values import (
    BadJson,
    as_array,
    as_string,
    as_uint,
    explained,
    member,
    optional,
)
from worker_runtime.protocols.http.outline import outlined
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.request import Buffer

ABSENT = msgspec.Raw(b"")
MOST_OUTLINE = 1024 * 1024  # bytes of a large request without the values of its tensors
_LARGE = 1024
_MARK = secrets.token_hex(8)
_MEMBERS = (b'"datatype"', b'"shape"')


class InputJson(msgspec.Struct):
    """``data`` is the text of the tensor's values; ``values`` are they, where it was parsed."""

    name: str
    datatype: str
    shape: list[int]
    parameters: dict[str, Any] | None = None
    data: msgspec.Raw = ABSENT
    values: Any = None

    @property
    def has_data(self) -> bool:
        return self.values is not None or bool(bytes(self.data))


class OutputJson(msgspec.Struct):
    name: str
    parameters: dict[str, Any] | None = None


class RequestJson(msgspec.Struct):
    """Members that are not given are UNSET: null is not the same."""

    inputs: list[InputJson]
    id: str = ""
    outputs: list[OutputJson] | msgspec.UnsetType = msgspec.UNSET
    parameters: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Unparsed(msgspec.Struct):
    """Values that stood in the JSON and were parsed with it: null is one of them."""

    value: Any


class Parsed(msgspec.Struct):
    """The bytes of a tensor whose JSON has been read already."""

    data: Buffer


Values = bytes | Unparsed | Parsed

_decoder = msgspec.json.Decoder(RequestJson)


def decode_request(raw: bytes | bytearray | memoryview) -> RequestJson:
    """Parse the JSON part. Raises BadJson and InvalidArgument saying what is wrong."""
    return _decode(bytes(raw), read)


def decode_large_request(raw: bytes) -> Steps[RequestJson]:
    """As ``decode_request``, in slices, for what is large because of its tensors."""
    outline = yield from outlined(raw, _MARK, MOST_OUTLINE)
    yield None
    request = _decode(outline.text, read_again)
    for item in request.inputs:
        found = outline.values.get(_mark(item))
        if found is not None:
            item.data, item.values = found, None
    return request


def _mark(item: InputJson) -> str:
    """What stands where its values are to be."""
    if item.values is None:
        return bytes(item.data)[1:-1].decode("utf-8", "replace")
    return item.values.value if isinstance(item.values.value, str) else ""


def _decode(raw: bytes, reader: Callable[[bytes], Any]) -> RequestJson:
    try:
        request = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return thorough(reader(raw))
    if _may_have_duplicates(raw, request) or any(
        min(i.shape, default=0) < 0 for i in request.inputs
    ):
        return thorough(reader(raw))
    return request


def _may_have_duplicates(raw: bytes | bytearray | memoryview, request: RequestJson) -> bool:
    """Some member may be given twice: of those Triton takes the first, the decoder the last."""
    text = _without_data(bytes(raw), request)
    count = len(request.inputs)
    if any(text.count(word) != count for word in _MEMBERS):
        return True
    return text.count(b'"inputs"') > 1 or text.count(b'"data"') > count or text.count(b'"id"') > 1


def _without_data(text: bytes, request: RequestJson) -> bytes:
    """``text`` without the values of large tensors, where these are found quickly."""
    kept, at = [], 0
    for item in request.inputs:
        data = memoryview(item.data)
        start = text.find(data[:_LARGE], at) if len(data) > _LARGE else -1
        if start >= 0 and text.startswith(data, start):
            kept.append(text[at:start])
            at = start + len(data)
    return b"".join([*kept, text[at:]]) if kept else text


def thorough(document: Any) -> RequestJson:
    """Read member by member. Raises BadJson for the first one that is wrong."""
    request = RequestJson(inputs=[])
    if optional(document, "id", msgspec.UNSET) is not msgspec.UNSET:
        request.id = _read("id", as_string, document["id"])
    request.parameters = optional(document, "parameters", msgspec.UNSET)
    for item in _read("inputs", lambda value: as_array(member(value, "inputs")), document):
        request.inputs.append(_input(item))
    if optional(document, "outputs", msgspec.UNSET) is not msgspec.UNSET:
        outputs = _read("outputs", as_array, document["outputs"])
        request.outputs = [_output(item) for item in outputs]
    return request


def _read(name: str, reader: Any, value: Any) -> Any:
    try:
        return reader(value)
    except BadJson as error:
        raise explained(f"Unable to parse '{name}'", error) from None


def _member(item: Any, name: str, reader: Any) -> Any:
    return _read(name, lambda value: reader(member(value, name)), item)


def _input(item: Any) -> InputJson:
    parameters = optional(item, "parameters")
    check_source(
        has_data=isinstance(item, dict) and "data" in item,
        parameters=parameters if isinstance(parameters, dict) else {},
    )
    name = _member(item, "name", as_string)
    datatype = _member(item, "datatype", as_string)
    shape = [_read("shape", as_uint, dim) for dim in _member(item, "shape", as_array)]
    return InputJson(
        name=name,
        datatype=datatype,
        shape=shape,
        parameters=parameters if isinstance(parameters, dict) else None,
        values=Unparsed(item["data"]) if "data" in item else None,
    )


def _output(item: Any) -> OutputJson:
    parameters = optional(item, "parameters")
    name = _member(item, "name", as_string)
    return OutputJson(name, parameters if isinstance(parameters, dict) else None)


def check_source(*, has_data: bool, parameters: dict[str, Any]) -> None:
    """An input has exactly one source. Raises InvalidArgument."""
    has_binary = "binary_data_size" in parameters
    has_region = "shared_memory_region" in parameters
    if has_data + has_binary + has_region == 1:
        return
    given = [
        name
        for name, there in (
            ("'data'", has_data),
            ("'binary_data_size'", has_binary),
            ("'shared_memory_region'", has_region),
        )
        if there
    ]
    raise InvalidArgument(
        "Input must set only one of the following fields: 'data', 'binary_data_size' in "
        "'parameters', 'shared_memory_region' in 'parameters'. But "
        + (f"set {' '.join(given)}" if given else "no field is set")
    )
