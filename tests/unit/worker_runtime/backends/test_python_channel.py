"""Shared memory and messages between a server and a Python model, without a process."""

import json
import marshal
import os
import socket
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.runtime_process import wait_until
from worker_runtime.backends.python.messages import (
    INLINE_BYTES,
    arrays_of,
    code_of,
    fault_of,
    tensor_message,
)
from worker_runtime.backends.python.stub.shoal_stub.channel import Channel, Closed, dumps
from worker_runtime.backends.python.stub.shoal_stub.memory import Arena, Window
from worker_runtime.backends.python.stub.shoal_stub.reading import Reading
from worker_runtime.errors import Internal, InvalidArgument, NotFound, RuntimeFault, Unavailable

Pair = tuple[Channel, Channel]


def connected(arena: Arena, window: Window) -> None:
    """What a message with new segments does."""
    for number, fd, size in arena.fresh:
        window.add(number, os.dup(fd), size)
    arena.fresh.clear()
    window.drop(arena.gone)
    arena.gone.clear()


@given(st.lists(st.tuples(st.integers(0, 300_000), st.integers(0, 5)), max_size=40))
def test_blocks_never_overlap_and_all_come_back(steps: list[tuple[int, int]]) -> None:
    arena, window = Arena(), Window()
    taken: list[tuple[tuple[int, int, int], np.ndarray, bytes]] = []
    try:
        for number, (size, release) in enumerate(steps):
            data = bytes([number % 251]) * size
            block = arena.put(data, size)
            connected(arena, window)
            taken.append((block, window.look(block), data))
            assert all(_apart(block, other) for other, _, _ in taken[:-1])
            if release < len(taken):
                taken.pop(release)
                arena.free(window.take_released() or [])
                connected(arena, window)
            assert all(seen.tobytes() == written for _, seen, written in taken)
        taken.clear()
        arena.free(window.take_released() or [])
        assert (arena.lent_bytes, arena.lent_blocks) == (0, 0)
        assert all(segment.idle for segment in arena._segments.values())
    finally:
        taken.clear()
        arena.close()


def _apart(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    if one[0] != other[0] or one[0] < 0 or not (one[2] and other[2]):
        return True
    return one[1] + one[2] <= other[1] or other[1] + other[2] <= one[1]


def test_a_block_is_taken_while_any_view_of_it_lives() -> None:
    arena, window = Arena(), Window()
    block = arena.put(np.arange(10, dtype="<i4"), 40)
    connected(arena, window)
    view = window.look(block).view("<i4").reshape(2, 5)[1:]
    assert window.take_released() is None
    assert view.tolist() == [[5, 6, 7, 8, 9]]
    del view
    assert window.take_released() == [block]
    arena.close()


def test_large_idle_segments_are_given_back() -> None:
    arena, window = Arena(), Window()
    blocks = [arena.put(np.zeros(40 << 20, np.uint8), 40 << 20) for _ in range(3)]
    connected(arena, window)
    held = arena.held_bytes
    arena.free(blocks)
    assert arena.held_bytes < held
    assert arena.gone
    arena.close()


def test_a_limit_is_kept_and_told() -> None:
    arena = Arena(1 << 20)
    arena.put(b"x" * 1000, 1000)
    with pytest.raises(MemoryError, match="exceed the limit of 1048576"):
        arena.put(b"x" * (1 << 20), 1 << 20)
    arena.close()


@pytest.mark.parametrize(
    ("datatype", "array"),
    [
        ("FP32", np.array(5, "<f4")),
        ("FP16", np.array([1.5, 2], "<f2")),
        ("INT64", np.arange(12).reshape(3, 4).T),
        ("BOOL", np.array([[True], [False]])),
        ("FP32", np.empty((0, 3), "<f4")),
        ("BF16", np.array([1, 2], "<u2")),
        ("BYTES", np.array([[b"", "ü".encode()], [b"\0" * 70_000, b"x"]], object)),
    ],
)
def test_arrays_of_all_kinds_go_over(datatype: str, array: np.ndarray) -> None:
    arena, window = Arena(), Window()
    told = marshal.loads(marshal.dumps(tensor_message("a", datatype, array, arena), 2))
    connected(arena, window)
    names, (found,) = arrays_of([told], window, "m")
    assert names == ["a"]
    assert found.shape == array.shape
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()
    del found
    arena.close()


def test_small_tensors_go_with_the_message_and_may_be_written_to() -> None:
    arena, window, given = Arena(), Window(), np.arange(8, dtype=np.float32)[::2]
    name, datatype, shape, data = marshal.loads(
        marshal.dumps(tensor_message("x", "FP32", given, arena), 2)
    )
    assert (name, datatype, shape, arena.lent_blocks) == ("x", "FP32", (4,), 0)
    for _ in range(2):
        found = window.look(data).view(np.float32)
        assert found.tolist() == [0, 2, 4, 6]
        found += 1
    assert not window.released
    tensor_message("x", "UINT8", np.zeros(INLINE_BYTES + 1, np.uint8), arena)
    assert arena.lent_blocks == 1
    arena.close()


@pytest.mark.parametrize("fault", [NotFound("a"), InvalidArgument("b"), Unavailable("c")])
def test_faults_keep_their_kind_as_numbers(fault: RuntimeFault) -> None:
    found = fault_of(code_of(fault), str(fault))
    assert (type(found), str(found)) == (type(fault), str(fault))


def test_a_number_without_meaning_is_internal() -> None:
    assert isinstance(fault_of(99, "x"), Internal)


# --- channels and who reads them -----------------------------------------------------------------


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channels = Channel(ours), Channel(theirs)
    yield channels
    for channel in channels:
        channel.close()


@pytest.mark.parametrize("size", [0, 10, 99_000, 250_000, 3_000_000])
def test_messages_of_any_size_arrive_whole_and_in_order(pair: Pair, size: int) -> None:
    here, there = pair
    for number in range(3):
        here.send({"op": "x", "n": number, "text": "ä" * size})
    for number in range(3):
        message = there.receive()
        assert (message["n"], message["text"]) == (number, "ä" * size)


def test_what_was_looked_at_is_free_after_the_next_message(pair: Pair) -> None:
    here, there = pair
    block = here.arena.put(b"x" * 5000, 5000)
    here.send({"op": "x", "block": block})
    told = there.receive()["block"]
    assert there.window.look(tuple(told)).tobytes() == b"x" * 5000
    assert here.arena.lent_blocks == 1
    there.send({"op": "y"})
    here.receive()
    assert here.arena.lent_blocks == 0


def test_the_end_of_the_other_side_is_told(pair: Pair) -> None:
    here, there = pair
    there.close()
    with pytest.raises(Closed):
        here.receive()
    with pytest.raises(Closed):
        for _ in range(2):
            here.send({"op": "x"})


class Waiters:
    """Threads that wait for messages by number."""

    def __init__(self, channel: Channel) -> None:
        self.boxes: dict[int, SimpleQueue[Any]] = {}
        self.reading = Reading(channel, self._deliver, self._lost)

    def _deliver(self, message: dict[str, Any]) -> None:
        self.boxes[message["to"]].put(message)

    def _lost(self) -> None:
        for box in self.boxes.values():
            box.put(None)

    def thread(
        self,
        number: int,
        found: "SimpleQueue[tuple[int, Any]]",
        box: "SimpleQueue[Any] | None" = None,
    ) -> threading.Thread:
        box = self.boxes[number] = SimpleQueue() if box is None else box

        def wait() -> None:
            message = self.reading.wait(box)
            found.put((number, message and message["data"]))

        thread = threading.Thread(target=wait)
        thread.start()
        return thread


@given(st.permutations(range(6)))
def test_each_thread_gets_its_own_message_in_any_order(order: list[int]) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here, there = Channel(ours), Channel(theirs)
    waiters, found = Waiters(here), SimpleQueue[tuple[int, Any]]()
    threads = [waiters.thread(number, found) for number in range(6)]
    for number in order:
        there.send({"to": number, "data": number * 10})
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    told = dict(found.get_nowait() for _ in threads)
    assert told == {number: number * 10 for number in range(6)}
    here.close()
    there.close()


class Slow(SimpleQueue[Any]):
    """A box whose owner comes to what it got only later."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        found = super().get(block, timeout)
        self.goes_on.wait(10)
        return found


def test_messages_before_the_lead_are_not_taken_for_it(pair: Pair) -> None:
    """Several came for who follows, and then the lead, before it had taken the first."""
    here, there = pair
    waiters, found = Waiters(here), SimpleQueue[tuple[int, Any]]()
    leader = waiters.thread(1, found)
    wait_until(lambda: waiters.reading._led, "somebody to lead")
    slow = Slow()
    follower = waiters.thread(2, found, slow)
    wait_until(lambda: waiters.reading._followers, "somebody to follow")
    for number, data in ((2, "first"), (2, "second"), (2, "third"), (1, "last")):
        there.send({"to": number, "data": data})
    leader.join(10)  # it has passed on the lead
    slow.goes_on.set()
    follower.join(10)
    assert [found.get(timeout=10) for _ in "12"] == [(1, "last"), (2, "first")]
    assert [waiters.reading.wait(slow)["data"] for _ in "12"] == ["second", "third"]
    there.send({"to": 2, "data": "fourth"})
    assert waiters.reading.wait(slow)["data"] == "fourth"


def test_all_who_wait_hear_that_the_other_side_is_gone(pair: Pair) -> None:
    here, there = pair
    waiters, found = Waiters(here), SimpleQueue[tuple[int, Any]]()
    threads = [waiters.thread(number, found) for number in range(4)]
    there.close()
    for thread in threads:
        thread.join(10)
    assert {found.get_nowait() for _ in threads} == {(number, None) for number in range(4)}


def test_somebody_reads_for_coroutines(pair: Pair) -> None:
    here, there = pair
    box = SimpleQueue[Any]()
    reading: Reading

    def deliver(message: dict[str, Any]) -> None:
        reading.help_ends()
        box.put(message)

    reading = Reading(here, deliver, lambda: box.put(None))
    reading.start()
    for number in range(20):
        reading.help_begins()
        there.send({"n": number})
        assert box.get(timeout=10)["n"] == number


def test_text_that_is_no_utf8_goes_over() -> None:
    assert json.loads(dumps({"a": "\udc80ü"})) == {"a": "\udc80ü"}
