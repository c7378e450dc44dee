"""BYTES tensors of many elements: alike, mixed and broken ones read and write the same way."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols import strings
from worker_runtime.protocols.slices import at_once
from worker_runtime.types.tensor import (
    MANY_STRINGS,
    parse_strings,
    string_array,
    write_strings,
)

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


def found_or_refused(read: Callable[[], Any]) -> Any:
    try:
        return read().tolist()
    except InvalidArgument as refused:
        return str(refused)


@given(
    items=st.lists(st.binary(max_size=9), max_size=12)
    | st.lists(st.binary(min_size=3, max_size=3)),
    cut=st.integers(0, 6),
    more=st.binary(max_size=6),
    odd=st.integers(-1, 2),
    window=st.integers(4, 60),
)
def test_slices_give_the_same_elements_and_errors(
    items: list[bytes], cut: int, more: bytes, odd: int, window: int
) -> None:
    whole = wire_of(items)
    wire, count = whole[: len(whole) - cut] + more, max(0, len(items) + odd)
    expected = found_or_refused(lambda: parse_strings(wire, count, "x", "m", "id"))
    with mock.patch.object(strings, "_SLICE_BYTES", window):
        steps = strings.strings_in_slices(memoryview(wire), count, "x", "m", "id")
        assert found_or_refused(lambda: at_once(steps)) == expected


@pytest.mark.parametrize(
    ("wire", "count", "said"),
    [
        (b"\1\0\0", 5000, "expecting 4 bytes but only 3 bytes available"),
        (b"\1\0\0\0", 5000, r"\[request id: id\] expected 5000 string elements .* got 1"),
        (b"\1\0\0\0", 1, "expecting string of length 1 but only 0 bytes available"),
        (b"\2\0\0\0a", 5000, "expecting string of length 2 but only 1 bytes available"),
        (b"", 5000, "expected 5000 string elements"),
        (b"\0\0\0\0" * 5001, 5000, "unexpected number of string elements 5001"),
        (b"\0\0\0\0" * 5000 + b"\1", 5000, "expecting 4 bytes but only 1 bytes available"),
    ],
)
def test_what_is_broken_is_told(wire: bytes, count: int, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        parse_strings(wire, count, "x", "m", "id")
    with pytest.raises(InvalidArgument, match=said):
        at_once(strings.strings_in_slices(wire, count, "x", "m", "id"))


def test_a_shape_of_more_elements_than_there_are_takes_no_memory() -> None:
    with pytest.raises(InvalidArgument, match="got 0"):
        at_once(strings.strings_in_slices(b"", 2**62, "x", "m"))


@pytest.mark.parametrize("length", [0, 1, 40, 20_000])
def test_no_slice_is_long(length: int) -> None:
    items = [b"a" * (length + i % 2) for i in range(9000 if length < 100 else 50)]
    wire = wire_of(items)
    steps = strings.strings_in_slices(wire, len(items), "x", "m")
    assert sum(1 for _ in steps) >= len(wire) // max(4 * MANY_STRINGS, length + 5)
    array = string_array(list(items))
    assert sum(1 for _ in strings.written_in_slices(array)) == -(-len(items) // MANY_STRINGS)
    assert b"".join(at_once(strings.written_in_slices(array.reshape(2, -1)))) == wire
    assert at_once(strings.array_in_slices(items)).tolist() == items
