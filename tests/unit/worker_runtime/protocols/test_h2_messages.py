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
    inbox = Inbox(encoding, LIMIT, found.append, lambda: None, faults.append)
    for message in Assembler(encoding, LIMIT).feed(data):
        inbox.put(message)
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
    inbox = Inbox("gzip", LIMIT, lambda _: None, lambda: None, faults.append)
    inbox.held = True
    frame = flagged(1, b"") * 2**16
    assembler = Assembler("gzip", LIMIT)
    for _ in range(4):
        for message in assembler.feed(frame):
            inbox.put(message)
    assert not faults
    inbox.put(assembler.feed(flagged(1, b""))[0])
    assert [fault.status for fault in faults] == [8]
    assert not inbox.behind


async def test_messages_are_handed_on_so_many_in_a_turn() -> None:
    """200,000 empty messages, a megabyte, stopped the loop for 0.7 s."""
    found: list[object] = []
    caught_up: list[int] = []
    faults: list[MessageFault] = []
    inbox = Inbox(
        "identity", LIMIT, found.append, lambda: caught_up.append(len(found)), faults.append
    )
    messages = [b"%d" % number for number in range(5 * AT_ONCE + 3)]
    for message in messages:
        inbox.put(message)
    while inbox.behind:
        before = len(found)
        assert not caught_up
        await asyncio.sleep(0)
        assert len(found) - before <= AT_ONCE
    assert (found, caught_up, faults) == (messages, [len(messages)], [])
