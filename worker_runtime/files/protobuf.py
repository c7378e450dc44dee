"""The wire format of protobuf, field by field, without a schema."""

from collections.abc import Iterator

VARINT, I64, BYTES, GROUP, GROUP_END, I32 = range(6)
Field = tuple[int, int | memoryview]


class Malformed(ValueError):
    """These bytes are no protobuf message."""


class TooMany(ValueError):
    """More fields than are looked at."""


class Budget:
    """How many fields are looked at, of all messages together. Raises TooMany beyond that."""

    def __init__(self, most: int) -> None:
        self._left = most

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooMany("it has too many fields")


def fields(data: memoryview, budget: Budget | None = None) -> Iterator[Field]:
    """(number, value) of every field; bytes are views, groups are fields. Raises Malformed."""
    at = 0
    while at < len(data):
        if budget is not None:
            budget.spend()
        tag, at = _varint(data, at)
        kind = tag & 7
        if not tag >> 3:
            raise Malformed(f"a field without a number at byte {at}")
        if kind in (GROUP, GROUP_END):
            continue
        if kind == VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            length, at = _varint(data, at)
        elif kind in (I64, I32):
            length = 8 if kind == I64 else 4
        else:
            raise Malformed(f"wire type {kind} at byte {at}")
        if at + length > len(data):
            raise Malformed("it ends in the middle of a field")
        yield tag >> 3, data[at : at + length]
        at += length


def parts(data: memoryview, number: int, budget: Budget | None = None) -> Iterator[memoryview]:
    """The fields of that number that hold bytes."""
    for found, value in fields(data, budget):
        if found == number and isinstance(value, memoryview):
            yield value


def text(data: memoryview, number: int, budget: Budget | None = None) -> str:
    """The last field of that number as text, "" without one."""
    found = ""
    for value in parts(data, number, budget):
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
    raise Malformed("it ends in the middle of a number")
