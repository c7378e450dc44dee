"""Look at an ONNX file without loading it: is it one, who made it, which opset."""

from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

_IR_VERSION, _PRODUCER, _GRAPH, _OPSET_IMPORT = 1, 2, 7, 8
_VARINT, _I64, _BYTES, _I32 = 0, 1, 2, 5
_MAX_FIELD = 64


class NotOnnx(ValueError):
    """The file is not a protobuf ModelProto; the text says what was found."""


class OnnxHeader(Struct, frozen=True):
    ir_version: int
    producer: str
    opset: int | None


def read_header(path: Path) -> OnnxHeader:
    """Walk the top-level fields of the ModelProto in ``path``. Raises NotOnnx or OSError."""
    size = path.stat().st_size
    if size == 0:
        raise NotOnnx("the file is empty")
    with path.open("rb") as file:
        start = file.read(16)
        file.seek(0)
        try:
            return _walk(file, size)
        except NotOnnx as error:
            raise NotOnnx(f"{error} (first bytes: {start.hex(' ')})") from error


def _walk(file: BinaryIO, size: int) -> OnnxHeader:
    ir_version, producer, opset, has_graph = 0, "", None, False
    while file.tell() < size:
        tag = _varint(file)
        number, kind = tag >> 3, tag & 7
        if number == 0 or number > _MAX_FIELD:
            raise NotOnnx("it does not hold an ONNX ModelProto")
        if kind == _VARINT:
            value = _varint(file)
            ir_version = value if number == _IR_VERSION else ir_version
        elif kind == _BYTES:
            length = _varint(file)
            if file.tell() + length > size:
                raise NotOnnx("it ends in the middle of a field: truncated, or not ONNX")
            if number == _PRODUCER:
                producer = file.read(length).decode("utf-8", "replace")
            elif number == _OPSET_IMPORT:
                opset = _main_opset(file.read(length), opset)
            else:
                has_graph = has_graph or number == _GRAPH
                file.seek(length, 1)
        elif kind in (_I64, _I32):
            file.seek(8 if kind == _I64 else 4, 1)
        else:
            raise NotOnnx("it does not hold an ONNX ModelProto")
    if not has_graph or not ir_version:
        raise NotOnnx("it has no graph")
    return OnnxHeader(ir_version, producer, opset)


def _varint(file: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = file.read(1)
        if not byte or shift > 63:
            raise NotOnnx("it does not hold an ONNX ModelProto")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
        shift += 7


def _main_opset(data: bytes, known: int | None) -> int | None:
    """The version in one OperatorSetIdProto when it is of the main domain."""
    position, domain, version = 0, "", 0
    while position < len(data):
        tag = data[position]
        position += 1
        value = shift = 0
        while position < len(data):
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if tag & 7 == _BYTES:
            domain = data[position : position + value].decode("utf-8", "replace")
            position += value
        elif tag >> 3 == 2:
            version = value
    return version if domain in ("", "ai.onnx") else known
