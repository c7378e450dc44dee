"""Length-prefixed messages, cut anywhere, compressed or not."""

import asyncio
import gzip
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.protocols.grpc.native.assembler import Assembler
from worker_runtime.protocols.grpc.native.messages import (
    AT_ONCE,
    Inbox,
    MessageFault,
    Turns,
    encoding_for,
    framed,
    packed,
)
from worker_runtime.types.listening import CompressionLevel

LIMIT = 100_000  # small enough to be unpacked at once


@given(st.lists(st.binary(max_size=60), max_size=8), st.lists(st.integers(1, 25), max_size=60))
def test_messages_survive_any_cut(messages: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(b"".join(framed([message], len(message))) for message in messages)
    assembler, found, at = Assembler("identity", LIMIT), [], 0
    for size in [*cuts, len(stream) or 1]:
        piece = stream[at : at + size]
        at += size
        if piece:
            found += assembler.feed(piece)
    assert found == messages
    assert assembler.empty


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_compressed_both_ways(encoding: str, level: str) -> None:
    message = b"abc" * 1000
    data = packed(message, encoding, CompressionLevel(level))
    assert data[0] == 1
    assert len(data) < 200
    assert read(encoding, data) == [message]


def read(encoding: str, data: bytes) -> list[bytes]:
    """What a handler gets of it. Raises MessageFault."""
    found: list[bytes] = []
    faults: list[MessageFault] = []
    assembler = Assembler(encoding, LIMIT)
    inbox = Inbox(encoding, LIMIT, found.append, lambda: None, faults.append, assembler, Turns())
    inbox.put(assembler.feed(data))
    if faults:
        raise faults[0]
    return found


def flagged(flag: int, payload: bytes) -> bytes:
    return struct.pack(">BI", flag, len(payload)) + payload


@pytest.mark.parametrize(
    ("encoding", "data", "status"),
    [
        ("identity", flagged(1, b"x"), 13),
        ("identity", flagged(2, b"x") + b"more", 13),
        ("gzip", flagged(1, b"not gzip"), 13),
        ("gzip", flagged(1, gzip.compress(b"hello", mtime=0)[:-4]), 13),
        ("deflate", flagged(1, zlib.compress(b"hello")[:-2]), 13),
        ("identity", struct.pack(">BI", 0, 2**31) + b"x", 8),
        ("gzip", struct.pack(">BI", 1, 2 * LIMIT), 8),
        ("gzip", flagged(1, gzip.compress(bytes(LIMIT + 1), mtime=0)), 8),
        ("deflate", flagged(1, zlib.compress(bytes(LIMIT + 1))), 8),
    ],
)
def test_what_cannot_be_read_has_a_status(encoding: str, data: bytes, status: int) -> None:
    with pytest.raises(MessageFault) as caught:
        read(encoding, data)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("level", "accepted", "encoding"),
    [
        ("none", "gzip", ""), ("low", "identity,deflate,gzip", "gzip"),
        ("high", "identity,deflate,gzip", "deflate"), ("medium", "gzip", "gzip"),
        ("low", "identity, deflate", "deflate"), ("low", "", ""), ("low", "br", ""),
    ],
)  # fmt: skip
def test_answers_are_compressed_only_for_who_accepts_it(
    level: str, accepted: str, encoding: str
) -> None:
    assert encoding_for(CompressionLevel(level), accepted) == encoding


def test_messages_that_wait_to_be_unpacked_are_counted() -> None:
    """Five bytes each on the line, twenty times that here: a window held three million of them."""
    faults: list[MessageFault] = []
    assembler = Assembler("gzip", LIMIT)
    inbox = Inbox("gzip", LIMIT, lambda _: None, lambda: None, faults.append, assembler, Turns())
    inbox.held = True
    frame = flagged(1, b"") * 16
    for _ in range(2**14):
        inbox.put(assembler.feed(frame))
    assert not faults
    inbox.put(assembler.feed(frame))
    assert [fault.status for fault in faults] == [8]
    assert not inbox.behind


def test_many_messages_are_cut_out_of_their_frame_some_at_a_time() -> None:
    """A read of 256 KiB has 50,000 of five bytes, at 3 µs each."""
    messages = [b"%d" % number for number in range(10 * AT_ONCE + 3)]
    stream = b"".join(flagged(0, message) for message in messages)
    cut = len(stream) - 2  # in the last message
    assembler = Assembler("identity", LIMIT)
    found = assembler.feed(memoryview(stream)[:cut])
    assert len(found) == AT_ONCE
    assert assembler.feed(stream[cut:]) == []
    assert (assembler.uncut, assembler.empty, assembler.room(1)) == (True, False, None)
    while assembler.uncut:
        more = assembler.more()
        assert len(more) <= AT_ONCE
        found += more
    assert found == messages
    assert assembler.empty
    assert assembler.more() == []


async def test_what_is_wrong_with_a_message_that_waits_is_told_in_its_turn() -> None:
    found: list[object] = []
    faults: list[MessageFault] = []
    assembler = Assembler("identity", LIMIT)
    inbox = Inbox(
        *("identity", LIMIT, found.append, lambda: None, faults.append, assembler, Turns())
    )
    inbox.put(assembler.feed(flagged(0, b"m") * 100 + flagged(2, b"m")))
    while inbox.behind:
        assert not faults
        await asyncio.sleep(0)
    assert [fault.status for fault in faults] == [13]
    assert len(found) >= 64


async def test_messages_are_handed_on_so_many_in_a_turn_whichever_call_they_are_of() -> None:
    """200,000 empty messages, a megabyte, stopped the loop for 0.7 s."""
    turns, total = Turns(), 0
    calls: list[tuple[Inbox, list[object], list[int]]] = []
    messages = [b"%d" % number for number in range(5 * AT_ONCE + 3)]
    for _ in range(3):
        found: list[object] = []
        caught_up: list[int] = []

        def count(of: list[object] = found, into: list[int] = caught_up) -> None:
            into.append(len(of))

        faults: list[MessageFault] = []
        assembler = Assembler("identity", LIMIT)
        inbox = Inbox(*("identity", LIMIT, found.append, count, faults.append, assembler, turns))
        inbox.put(assembler.feed(b"".join(flagged(0, message) for message in messages)))
        calls.append((inbox, found, caught_up))
    while any(inbox.behind for inbox, _, _ in calls):
        before = sum(len(found) for _, found, _ in calls)
        await asyncio.sleep(0)
        now = sum(len(found) for _, found, _ in calls)
        assert 0 < now - before <= AT_ONCE
        total += 1
    assert total >= 3 * 5
    for _, found, caught_up in calls:
        assert (found, caught_up) == (messages, [len(messages)])
