"""Large JSON in slices: the same as in one go, and the loop turns in between."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.http import tensors
from worker_runtime.protocols.http.schema import RequestJson, _without_data, decode_request
from worker_runtime.protocols.http.tensors import (
    encode_response,
    from_json,
    is_finite,
    parsed_in_slices,
    to_json,
    written_in_slices,
)
from worker_runtime.protocols.slices import InTurn, Slices, Steps, at_once
from worker_runtime.types.tensor import BY_NAME

NUMBERS = ["BOOL", "INT8", "UINT8", "INT32", "UINT64", "INT64", "FP32", "FP64", "FP16", "BYTES"]
leaves = st.one_of(
    st.integers(-200, 300),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
)
values = st.one_of(
    st.lists(st.integers(0, 100), max_size=30),
    st.lists(st.lists(st.floats(-9, 9), min_size=3, max_size=3), max_size=9),
    st.recursive(st.lists(leaves, max_size=4), lambda inner: st.lists(inner | leaves, max_size=4)),
)


WRONG_COUNT = "Unable to parse 'data': Shape does not match true shape of 'data' field"


def flat(data: Any) -> Iterator[Any]:
    for item in data:
        yield from flat(item) if isinstance(item, list) else [item]


@given(
    data=values,
    datatype=st.sampled_from(NUMBERS),
    more=st.sampled_from([0, 0, 0, 1, -1]),
    size=st.integers(1, 40),
    spaces=st.sampled_from([",", ", ", " ,\n"]),
)
def test_values_are_the_same_as_in_one_go(
    data: list[Any], datatype: str, more: int, size: int, spaces: str
) -> None:
    kind, count = BY_NAME[datatype], max(1, sum(1 for _ in flat(data)) + more)
    raw = json.dumps(data, separators=(spaces, ":")).encode()
    with mock.patch.object(tensors, "SLICE_BYTES", size):
        try:
            found = at_once(parsed_in_slices(raw, kind, count))
        except RuntimeFault as refused:
            with pytest.raises(RuntimeFault) as expected:
                from_json(raw, kind, count, "x")
            # which of two mistakes is told depends on where the slices end
            assert str(refused) in {str(expected.value), *([WRONG_COUNT] if more else [])}
        else:
            if found is not None:
                assert found.data == from_json(raw, kind, count, "x")


def test_plain_numbers_are_read_in_slices() -> None:
    """Or nothing would be gained: what gives None is read in one go."""
    for data in (np.arange(50_000.0), np.arange(50_000.0).reshape(100, 5, 100)):
        raw = json.dumps(data.tolist()).encode()
        steps = parsed_in_slices(raw, BY_NAME["FP32"], 50_000)
        count = 0
        try:
            while True:
                next(steps)
                count += 1
        except StopIteration as end:
            assert end.value.data == data.astype(np.float32).tobytes()
        assert count >= len(raw) // tensors.SLICE_BYTES


@pytest.mark.parametrize(
    "text", ["[" * 101 + "1" + "]" * 101, "[1,2," + "[" * 100 + "3" + "]" * 101]
)
def test_what_nests_too_deeply_is_left_to_who_says_so(text: str) -> None:
    count = text.count(",") + 1
    assert at_once(parsed_in_slices(text.encode(), BY_NAME["INT32"], count)) is None
    with pytest.raises(InvalidArgument, match="nesting depth"):
        from_json(text.encode(), BY_NAME["INT32"], count, "x")


@pytest.mark.parametrize(
    ("array", "datatype"),
    [
        (np.arange(10_000, dtype=np.int32).reshape(100, 100), "INT32"),
        (np.array([np.nan, np.inf, 1.5] * 3000), "FP64"),
        (np.array([b"a\xff", "b", b'"'] * 3000, dtype=object), "BYTES"),
        (np.zeros(0, np.float32), "FP32"),
        (np.ones(1, np.bool_), "BOOL"),
    ],
)
def test_texts_are_the_same_as_in_one_go(array: Any, datatype: str) -> None:
    kind = BY_NAME[datatype]
    whole = encode_response(to_json(array, kind), finite=is_finite(array))
    with mock.patch.object(tensors, "SLICE_ELEMENTS", 64):
        assert b"".join(at_once(written_in_slices(array, kind))) == whole
    assert b"".join(at_once(written_in_slices(array, kind))) == whole


def request(**more: Any) -> bytes:
    rows = list(range(2000))
    given = {"name": "x", "datatype": "INT32", "shape": [2000], **more, "data": rows}
    return json.dumps({"inputs": [given, {**given, "name": "y"}]}).encode()


def test_a_member_given_twice_is_seen_around_large_values() -> None:
    """Of those Triton takes the first."""
    plain = request()
    assert b"1999" not in _without_data(plain, decode_request(plain))
    twice = plain.replace(b'"shape": [2000]', b'"shape": [2000], "shape": [7]', 1)
    read: RequestJson = decode_request(twice)
    assert [item.shape for item in read.inputs] == [[2000], [2000]]


# --- the turns of the loop -----------------------------------------------------------------------


class Seen:
    def __init__(self) -> None:
        self.order: list[Any] = []
        self.ended = asyncio.Event()
        self.open = 0

    def run(self, slices: Slices, name: str, steps: Steps[Any], *, wanted: bool = True) -> None:
        self.open += 1

        def end(result: Any) -> None:
            self.order.append((name, result))
            self.open -= 1
            if not self.open:
                self.ended.set()

        slices.run(steps, wanted=lambda: wanted, done=end, failed=lambda error: end(str(error)))

    def steps(self, name: str, count: int) -> Steps[str]:
        for number in range(count):
            self.order.append(f"{name}{number}")
            yield None
        return "done"


async def test_pieces_of_work_take_turns_with_each_other_and_the_loop() -> None:
    slices, seen = Slices(), Seen()
    seen.run(slices, "a", seen.steps("a", 2))
    seen.run(slices, "b", seen.steps("b", 2))

    def else_() -> None:
        seen.order.append("else")
        if seen.open:
            asyncio.get_running_loop().call_soon(else_)

    asyncio.get_running_loop().call_soon(else_)
    await seen.ended.wait()
    work = [item for item in seen.order if item != "else"]
    assert work == ["a0", "b0", "a1", "b1", ("a", "done"), ("b", "done")]
    for first, second in zip(seen.order, seen.order[1:], strict=False):
        assert "else" in (first, second), seen.order


async def test_work_waits_for_a_thread_and_lets_others_go_on() -> None:
    slices, seen = Slices(), Seen()
    gate: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def waits() -> Steps[str]:
        yield gate
        return gate.result()

    seen.run(slices, "waits", waits())
    seen.run(slices, "b", seen.steps("b", 1))
    while seen.open > 1:
        await asyncio.sleep(0)
    gate.set_result("from a thread")
    await seen.ended.wait()
    assert seen.order == ["b0", ("b", "done"), ("waits", "from a thread")]


async def test_what_fails_says_so_and_what_nobody_wants_ends() -> None:
    slices, seen = Slices(), Seen()
    closed = []

    def fails() -> Steps[str]:
        yield None
        raise InvalidArgument("wrong")

    def unwanted() -> Steps[str]:
        try:
            yield None
            yield None
        finally:
            closed.append(True)
        return ""

    steps = unwanted()
    next(steps)
    seen.run(slices, "fails", fails())
    slices.run(steps, wanted=lambda: False, done=seen.order.append, failed=seen.order.append)
    await seen.ended.wait()
    await asyncio.sleep(0)
    assert seen.order == [("fails", "wrong")]
    assert closed == [True]


async def test_who_cannot_be_told_of_a_failure_does_not_keep_others_waiting() -> None:
    loop, slices, seen = asyncio.get_running_loop(), Slices(), Seen()
    told: list[str] = []
    loop.set_exception_handler(lambda _, context: told.append(str(context["exception"])))

    def fails() -> Steps[str]:
        yield None
        raise InvalidArgument("wrong")

    def gone(_: Exception) -> None:
        raise ConnectionError("the client is gone")

    behind = InTurn(slices)
    behind.run(fails(), wanted=lambda: True, done=print, failed=gone)
    behind.wait(lambda: seen.order.append("behind"))
    seen.run(slices, "b", seen.steps("b", 2))
    await asyncio.wait_for(seen.ended.wait(), 5)
    assert seen.order == ["b0", "behind", "b1", ("b", "done")]
    assert told == ["the client is gone"]
