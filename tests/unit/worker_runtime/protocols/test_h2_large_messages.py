"""Large messages are read into their memory once, however they are cut; what promises them gets
little until it comes.
"""

import asyncio
from itertools import count, cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.http2_peer import framed
from tests.support.http2_raw import Raw
from worker_runtime.protocols.grpc.native import assembler, connection, reader
from worker_runtime.protocols.grpc.native import frames as f
from worker_runtime.protocols.grpc.native.assembler import Assembler
from worker_runtime.protocols.grpc.native.messages import RESOURCE_EXHAUSTED, MessageFault
from worker_runtime.types.listening import ConnectionLimits

MIB = 1024 * 1024
READ = 256_000  # what uvloop reads at once


def body_of(size: int) -> bytes:
    return framed((bytes(range(251)) * (size // 251 + 1))[:size])


def cut(stream: int, body: bytes, frame: int) -> bytes:
    """DATA frames of ``frame`` bytes; the last one ends the stream."""
    found = []
    for at in range(0, len(body), frame):
        piece = body[at : at + frame]
        flags = f.END_STREAM if at + frame >= len(body) else 0
        found += [f.head(len(piece), f.DATA, flags, stream), piece]
    return b"".join(found)


class Counted:
    """How the bytes of messages went into their memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.copied = self.pieces = self.grown = self.moved = 0
        add, grow = Assembler._add, Assembler._grow

        def counted_add(this: Assembler, piece: bytes | memoryview) -> None:
            before = this._memory
            add(this, piece)
            self.pieces += 1
            in_place = isinstance(piece, memoryview) and piece.obj is before.obj
            self.copied += 0 if in_place else len(piece)

        def counted_grow(this: Assembler, have: int) -> None:
            self.grown += 1
            self.moved += this._have
            grow(this, have)

        monkeypatch.setattr(Assembler, "_add", counted_add)
        monkeypatch.setattr(Assembler, "_grow", counted_grow)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def sent(size: int, frame: int, *, straight: bool) -> Raw:
    """One call with a message of ``size`` bytes, given as a socket gives it."""
    raw = Raw()
    stream, head = raw.headers()
    body = body_of(size)
    wire = head + cut(stream, body, frame)
    for at in range(0, len(wire), READ):
        if straight:
            raw.send(wire[at : at + READ])
        else:
            raw.connection.data_received(wire[at : at + READ])
            while raw.connection.backlog:  # of a machine that is busy
                raw.connection.go_on()
    (message,) = raw.owner.handlers[0].messages
    assert message == body[5:]
    return raw


@pytest.mark.parametrize("frame", [f.SMALLEST_MAX_FRAME, MIB])
@pytest.mark.parametrize("size", [MIB, 4 * MIB, 12 * MIB])
async def test_every_byte_is_copied_once(counted: Counted, size: int, frame: int) -> None:
    sent(size, frame, straight=False)
    assert counted.copied == size
    assert counted.moved <= sum(assembler._STEPS)
    assert counted.grown <= 3
    reads, frames = size // READ + 2, size // frame + 2
    assert counted.pieces <= reads + frames


@pytest.mark.parametrize("size", [MIB, 4 * MIB, 12 * MIB])
async def test_large_frames_are_read_straight_into_the_message(counted: Counted, size: int) -> None:
    raw = sent(size, MIB - 1, straight=True)
    assert counted.copied <= READ  # the first one, which began with the head
    assert counted.moved <= sum(assembler._STEPS)
    assert raw.transport.straight >= size - READ
    assert raw.transport.protocol is raw.connection


async def test_windows_are_refilled_by_halves() -> None:
    raw = sent(14 * MIB, f.SMALLEST_MAX_FRAME, straight=False)
    raw.said += raw.transport.taken()
    assert raw.sent(f.WINDOW_UPDATE) == 2  # one of them in front of all calls


async def test_pieces_of_small_frames_are_views_of_what_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []
    add = Assembler._add

    def watched(this: Assembler, piece: bytes | memoryview) -> None:
        # The last one is so small that a copy is cheaper.
        seen.append(piece.obj if isinstance(piece, memoryview) else len(piece))
        add(this, piece)

    monkeypatch.setattr(Assembler, "_add", watched)
    monkeypatch.setattr(reader, "monotonic", lambda: 1.0)  # all of a read in one turn
    raw = Raw()
    stream, head = raw.headers()
    raw.connection.data_received(head)
    wire = cut(stream, body_of(200_000), f.SMALLEST_MAX_FRAME)
    raw.connection.data_received(wire)
    assert len(seen) == 13
    assert all(owner is wire for owner in seen[:-1])
    assert seen[-1] == len(wire) - 12 * (f.SMALLEST_MAX_FRAME + f.HEAD_BYTES) - f.HEAD_BYTES


# why one more: a test is not to read a megabyte byte by byte.
sizes = st.lists(st.integers(1, 300_000), max_size=5).map(lambda found: [*found, 70_000])


@given(
    messages=st.lists(st.integers(0, 300_000), min_size=1, max_size=3),
    frames=sizes,
    reads=sizes,
    noise=st.integers(0, 3),
)
def test_messages_of_two_calls_survive_any_cut(
    messages: list[int], frames: list[int], reads: list[int], noise: int
) -> None:
    """Frames of two streams in turns, other frames between them, read in any pieces."""

    async def main() -> None:
        raw = Raw(control_frames_per_second=0)
        (one, head_one), (two, head_two) = raw.headers(), raw.headers()
        bodies = {
            one: b"".join(body_of(size) for size in messages),
            two: b"".join(body_of(size) for size in reversed(messages)),
        }
        wire, at = [head_one, head_two], dict.fromkeys(bodies, 0)
        for number in count():
            stream, size = (one, two)[number % 2], frames[number // 2 % len(frames)]
            piece = bodies[stream][at[stream] : at[stream] + size]
            at[stream] += size
            wire += [f.head(len(piece), f.DATA, 0, stream), piece] if piece else []
            if noise and number % noise == 0:
                wire.append(f.window_update(0, 1))
            if all(at[item] >= len(body) for item, body in bodies.items()):
                break
        data, position = b"".join(wire), 0
        for size in cycle(reads):
            raw.send(data[position : position + size])
            position += size
            if position >= len(data):
                break
        first, second = (handler.messages for handler in raw.owner.handlers)
        assert b"".join(framed(bytes(item)) for item in first) == bodies[one]
        assert b"".join(framed(bytes(item)) for item in second) == bodies[two]
        assert not raw.transport.closed

    asyncio.run(main())


async def test_a_frame_that_is_cut_inside_the_next_ones_head() -> None:
    """Every place where what is read straight into the message may end."""
    size, frame = 600_000, 200_000
    for behind in range(f.HEAD_BYTES + 1):
        raw = Raw()
        stream, head = raw.headers()
        body = body_of(size)
        wire = cut(stream, body, frame)
        raw.send(head + wire[:100_000])
        raw.send(wire[100_000 : f.HEAD_BYTES + frame + behind])
        raw.send(wire[f.HEAD_BYTES + frame + behind :])
        assert raw.owner.handlers[0].messages == [body[5:]]


# --- promises ------------------------------------------------------------------------------------


def test_a_message_gets_memory_as_its_bytes_come() -> None:
    promised = Assembler("identity", 0)
    promised.feed(b"\0" + (2**31 - 1).to_bytes(4, "big") + b"x")
    assert len(promised._memory) == 64 * 1024
    for _ in range(15):
        promised.feed(bytes(65_536))
    assert len(promised._memory) == 1024 * 1024 + 4096


def test_a_message_for_which_there_is_no_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(size: int, _dtype: object) -> None:
        raise MemoryError(size)

    promised = Assembler("identity", 0)
    promised.feed(b"\0" + (2**31 - 1).to_bytes(4, "big") + bytes(assembler._STEPS[-1]))
    monkeypatch.setattr(assembler.np, "empty", none)
    with pytest.raises(MessageFault, match="no memory for a message of 2147483647 bytes") as caught:
        promised.feed(b"x")
    assert caught.value.status == RESOURCE_EXHAUSTED


async def test_a_call_that_ends_inside_a_frame_leaves_the_next_one_alone() -> None:
    raw = Raw()
    stream, head = raw.headers()
    wire = cut(stream, body_of(500_000), MIB)
    raw.send(head + wire[:READ])
    assert raw.transport.protocol is not raw.connection
    raw.owner.handlers[0].call.finish(4, "Deadline Exceeded")
    following, next_head = raw.headers("/echo")
    raw.send(wire[READ:] + next_head + cut(following, framed(b"hello"), MIB))
    assert raw.transport.protocol is raw.connection
    assert raw.owner.handlers[0].messages == []
    assert raw.owner.handlers[1].messages == [b"hello"]


async def test_a_client_that_does_not_read_is_not_read_from_inside_a_frame() -> None:
    raw = Raw()
    stream, head = raw.headers()
    wire = cut(stream, body_of(500_000), MIB)
    raw.connection.pause_writing()
    raw.send(head + wire[:READ])
    assert raw.transport.protocol is not raw.connection
    raw.transport.protocol.resume_writing()
    assert raw.transport.reading
    raw.transport.protocol.pause_writing()
    raw.send(wire[READ:])
    assert raw.transport.protocol is raw.connection
    assert not raw.transport.reading


async def test_more_than_the_window_ends_the_stream_inside_a_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "STREAM_WINDOW", 300_000)
    raw = Raw()
    stream, head = raw.headers()
    raw.send(head + cut(stream, body_of(500_000), MIB)[:400_000])
    assert f.rst_stream(stream, f.ErrorCode.FLOW_CONTROL_ERROR) in raw.said
    assert raw.owner.handlers[0].cancelled == 1


async def test_a_large_frame_that_is_never_completed_ends_the_connection() -> None:
    """16 KiB of it must come in each time-out of a body."""
    raw = Raw(limits=ConnectionLimits(body_s=30.0))
    stream, head = raw.headers()
    wire = cut(stream, body_of(500_000), MIB)
    raw.send(head + wire[:READ])
    sent = READ
    for now, size in ((0.0, 16 * 1024), (29.0, 1)):
        raw.connection.sweep(now)
        raw.send(wire[sent : sent + size])
        sent += size
    raw.connection.sweep(58.0)
    assert not raw.transport.aborted
    raw.connection.sweep(59.0)
    assert raw.transport.aborted
