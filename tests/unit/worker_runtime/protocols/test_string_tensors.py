"""BYTES tensors of many elements: alike, mixed and broken ones read and write the same way."""

import pytest

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.tensor import parse_strings, string_array, write_strings

COUNTS = [1, 4096, 4097, 10_000]


def wire_of(items: list[bytes]) -> bytes:
    return b"".join(len(item).to_bytes(4, "little") + item for item in items)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("length", [0, 1, 7])
def test_elements_of_one_length(count: int, length: int) -> None:
    items = [(b"%d" % i)[:length].ljust(length, b"\0") for i in range(count)]
    wire = wire_of(items)
    assert write_strings(string_array(list(items))) == wire
    assert parse_strings(wire, count, "x", "m").tolist() == items


@pytest.mark.parametrize("count", COUNTS)
def test_elements_of_many_lengths(count: int) -> None:
    items = [b"a" * (i % 5) for i in range(count)]
    wire = wire_of(items)
    assert write_strings(string_array(list(items))) == wire
    assert parse_strings(wire, count, "x", "m").tolist() == items


def test_text_is_written_as_utf8() -> None:
    assert write_strings(string_array(["ä"] * 5000)) == wire_of(["ä".encode()] * 5000)


def test_as_many_bytes_as_alike_elements_would_have_are_still_looked_at() -> None:
    items = [b"ab", b"cde", b"f"] * 2000  # 2 bytes each on average
    assert parse_strings(wire_of(items), len(items), "x", "m").tolist() == items
    with pytest.raises(InvalidArgument, match="expected 6001 string elements"):
        parse_strings(wire_of(items), 6001, "x", "m")
    with pytest.raises(InvalidArgument, match="unexpected number of string elements 6000"):
        parse_strings(wire_of(items), 5999, "x", "m")
