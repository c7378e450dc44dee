"""The wire format of protobuf, field by field, without a schema."""

from collections.abc import Iterator

VARINT, I64, BYTES, I32 = 0, 1, 2, 5
Field = tuple[int, int | memoryview]


class Torn(ValueError):
    """These bytes are no protobuf message."""


def fields(data: memoryview) -> Iterator[Field]:
    """(number, value) of every field; bytes are views. Raises Torn."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            length, at = _varint(data, at)
        elif kind in (I64, I32):
            length = 8 if kind == I64 else 4
        else:
            raise Torn(f"wire type {kind} at byte {at}")
        if at + length > len(data):
            raise Torn("it ends in the middle of a field")
        yield tag >> 3, data[at : at + length]
        at += length


def parts(data: memoryview, number: int) -> Iterator[memoryview]:
    """The fields of that number that hold bytes."""
    for found, value in fields(data):
        if found == number and isinstance(value, memoryview):
            yield value


def text(data: memoryview, number: int) -> str:
    """The last field of that number as text, "" without one."""
    found = ""
    for value in parts(data, number):
        found = bytes(value).decode("utf-8", "replace")
    return found


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise Torn("it ends in the middle of a number")
