"""Published attacks on HTTP/2 servers, and some on gRPC: each says what it offered.

An attack that must end in a way of its own asserts that itself.
"""

import gzip
import struct
import zlib
from collections.abc import Callable
from contextlib import ExitStack

import hpack
from tritonclient.grpc import service_pb2 as pb

from tests.hostile.http2_client import CALLS, LITTLE, Client, infer, letting_go
from tests.support.http2_peer import framed
from tests.support.http2_rules import END, WHOLE, block, frame, headers
from tests.support.runtime_process import Runtime
from worker_runtime.protocols.grpc.native import frames as f
from worker_runtime.protocols.grpc.native.frames import ErrorCode as Code

ROUNDS = 5
_AT_ONCE = 200  # frames that are sent together
Frames = Callable[[Client], bytes]


def flood(frames: Frames, most: int, code: Code, rounds: int = ROUNDS) -> Callable[[Runtime], str]:
    """So many of them on each of a few connections, whose server must hang up with ``code``."""

    def attack(server: Runtime) -> str:
        sent = 0
        for _ in range(rounds):
            with Client(server) as client:
                for _ in range(0, most, _AT_ONCE):
                    sent += _AT_ONCE
                    if not client.send(b"".join(frames(client) for _ in range(_AT_ONCE))):
                        break
                answer = client.answer()
                assert answer.ended
                assert answer.goaway in (code, None), answer.goaway  # a reset may overtake it
        return f"{sent} times"

    return attack


def _reset(client: Client) -> bytes:
    stream, opened = client.open()
    return opened + f.rst_stream(stream, Code.CANCEL)


def _provoked(client: Client) -> bytes:
    stream, opened = client.open()
    return (
        opened
        + (
            f.window_update(stream, 0),
            f.window_update(stream, f.MAX_WINDOW),
            frame(f.PRIORITY, stream, b"x"),
            frame(f.DATA, stream, b"", END) + frame(f.DATA, stream, b"x"),
            headers(stream, [("a", "b")]),
        )[stream // 2 % 5]
    )


def _on_a_call(data: Callable[[int], bytes]) -> Frames:
    """Frames of one call, which is opened first."""

    def frames(client: Client) -> bytes:
        first = next(client.streams)
        return (CALLS.open(1) if first == 1 else b"") + data(1)

    return frames


def continuation_flood(server: Runtime) -> str:
    """Header blocks that never end: empty pieces, small ones, large ones."""
    for piece in (b"", b"\0\1a\1b", b"\0\1a\x7f\xa1\x1e" + b"x" * 4000):
        with Client(server) as client:
            client.send(headers(1, CALLS.fields(), 0))
            for _ in range(100):
                if not client.send(frame(f.CONTINUATION, 1, piece) * 100):
                    break
            assert client.answer().ended
    return "3 x 10000 pieces"


def hpack_bomb(server: Runtime) -> str:
    """One large field in the table, named thousands of times: 64 KiB stand for 260 MB."""
    for _ in range(ROUNDS):
        with Client(server) as client:
            large = b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000
            client.send(frame(f.HEADERS, 1, block(CALLS.fields()) + large, WHOLE))
            client.send(frame(f.HEADERS, 3, block(CALLS.fields()) + b"\xbe" * 60_000, WHOLE))
            assert client.answer().goaway in (Code.ENHANCE_YOUR_CALM, None)
    return f"{ROUNDS} x 260 MB"


def hpack_sizes(server: Runtime) -> str:
    """A block of nothing but sizes of the table, then calls that empty and fill it each time."""
    with Client(server) as client:
        client.send(frame(f.HEADERS, 1, b"\x20" * 60_000, WHOLE))
        assert client.answer().goaway in (Code.COMPRESSION_ERROR, None)
    encoder = hpack.Encoder()
    with Client(server) as client:
        for number in range(400):
            fields = [*CALLS.fields("/no.Such/Method"), ("k", f"{number}" * 200)]
            data = b"\x20\x3f\xe1\x1f" + encoder.encode(fields)
            encoder = hpack.Encoder()
            client.send(frame(f.HEADERS, next(client.streams), data, WHOLE | END))
        client.send(f.ping(b"12345678"))
        assert client.answer(pongs=1).of(f.HEADERS)
    return "60000 sizes, 400 tables"


def zero_window(server: Runtime) -> str:
    """Answers that the client has asked for and makes no room for."""
    with Client(server, f.PREFACE + f.settings({f.INITIAL_WINDOW_SIZE: 0})) as client:
        for _ in range(100):
            client.send(client.call(CALLS.waiting, infer("echo", 30_000)))
        while sum(kind == f.RST_STREAM for kind, *_ in client.frames) < 100:
            assert client.read(), "the calls end, not the connection"
    return "100 answers of 120 KB"


def tiny_windows(server: Runtime) -> str:
    """Room for one byte at a time."""
    with Client(server, f.PREFACE + f.settings({f.INITIAL_WINDOW_SIZE: 1})) as client:
        client.send(client.call(CALLS.waiting, infer("echo", 1000)))
        for _ in range(3000):
            if not client.send(f.window_update(1, 1)):
                break
        client.send(f.ping(b"12345678"))
        answer = client.answer(pongs=1)
        assert sum(len(found.payload) for found in answer.of(f.DATA)) <= 3001
    return "3000 bytes, one by one"


def window_overflow(server: Runtime) -> str:
    for _ in range(20):
        with Client(server) as client:
            client.send(f.window_update(0, f.MAX_WINDOW) * 2)
            assert client.answer().goaway in (Code.FLOW_CONTROL_ERROR, None)
    return "20 connections"


def settings_windows(server: Runtime) -> str:
    """Settings that move the windows of a thousand calls, again and again."""
    with Client(server) as client:
        client.send(b"".join(client.open()[1] for _ in range(990)))
        for number in range(1000):
            if not client.send(f.settings({f.INITIAL_WINDOW_SIZE: number})):
                break
        assert client.answer().goaway in (Code.ENHANCE_YOUR_CALM, None)
    return "1000 x 990 windows"


def too_many_calls(server: Runtime) -> str:
    with Client(server) as client:
        opened = [client.open() for _ in range(1200)]
        client.send(b"".join(data for _, data in opened) + f.ping(b"12345678"))
        resets = client.answer(pongs=1).resets
        assert resets == {stream: Code.REFUSED_STREAM for stream, _ in opened[1000:]}
    return "1200 calls"


def silent_connections(server: Runtime) -> str:
    """Nothing, half a preface, no SETTINGS, half a header block, half a frame."""
    with ExitStack() as stack:
        clients = []
        for start in (b"", f.PREFACE[:9], f.PREFACE, f.PREFACE + f.settings({})[:4]) * 10:
            client = stack.enter_context(Client(server, start))
            clients.append(client)
        for data in (headers(1, CALLS.fields(), 0), CALLS.open() + f.head(1000, f.DATA, 0, 1)):
            client = stack.enter_context(Client(server))
            client.send(data)
            clients.append(client)
        for client in clients:
            assert client.answer().ended
    return "42 connections"


def slow_messages(server: Runtime) -> str:
    """Calls that never say what they are about, or announce gigabytes and send a few bytes."""
    with Client(server) as client:
        for announced in (None, 2**31 - 1, 10**6):
            for _ in range(100):
                stream = next(client.streams)
                client.send(headers(stream, CALLS.fields(CALLS.waiting)))
                if announced is not None:
                    message = struct.pack(">BI", 0, announced) + b"x" * 100
                    client.send(frame(f.DATA, stream, message))
        while sum(kind == f.RST_STREAM for kind, *_ in client.frames) < 300:
            assert client.read(), "the calls end, not the connection"
    return "300 calls"


def unread_answers(server: Runtime) -> str:
    """A window as large as can be, and nobody who reads."""
    wide = f.PREFACE + f.settings({f.INITIAL_WINDOW_SIZE: f.MAX_WINDOW})
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(server, wide, LITTLE)) for _ in range(2)]
        call = clients[0].call(CALLS.waiting, infer("echo", 2_000_000), 1)
        with letting_go(server, "grpc", clients):
            for client in clients:
                client.send(f.window_update(0, 2**30) + call)
    return "2 answers of 8 MB"


def gzip_bombs(server: Runtime) -> str:
    """A gigabyte of zeros in a megabyte, and what says it is compressed and is not."""
    for encoding, data in (
        ("gzip", gzip.compress(bytes(2**28), 9)),
        ("deflate", zlib.compress(bytes(2**28), 9)),
        ("gzip", b"no gzip"),
    ):
        with Client(server) as client:
            message = struct.pack(">BI", 1, len(data)) + data
            fields = [*CALLS.fields(CALLS.waiting), ("grpc-encoding", encoding)]
            client.send(headers(1, fields))
            for at in range(0, len(message), 16_384):
                last = at + 16_384 >= len(message)
                client.send(frame(f.DATA, 1, message[at : at + 16_384], END * last))
            client.send(f.ping(b"12345678"))
            while not (found := client.answer(pongs=1).of(f.HEADERS)):
                assert client.read()
            assert found[0].payload[-200:].count(b"grpc-status"), found
            assert b"grpc-status\x010" not in found[0].payload
    return "3 bombs of 256 MB"


def protobuf_lies(server: Runtime) -> str:
    """Lengths and nesting that are not there, shapes that no memory could hold."""
    shapes = [[2**62, 2**62], [2**63 - 1], [-1], [-(2**63)], [2**32] * 40, [0, 2**40]]
    messages = [
        b"\x0a\xff\xff\xff\xff\x07echo",  # a name of 2 GB
        b"\x2a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",  # a number of too many bytes
        b"\x2a\x02" * 5000,
        b"\x33" * 10_000,  # groups that never end
        b"\xff" * 100,
    ]
    for shape in shapes:
        request = pb.ModelInferRequest(model_name="echo")
        request.inputs.add(name="INPUT0", datatype="FP32", shape=shape)
        request.raw_input_contents.append(bytes(12))
        messages.append(request.SerializeToString())
    with Client(server) as client:
        for message in messages:
            client.send(client.call(CALLS.waiting, framed(message)))
        while sum(flags & END for kind, flags, *_ in client.frames if kind == f.HEADERS) < len(
            messages
        ):
            assert client.read()
        for found in client.frames:
            assert found.kind != f.HEADERS or b"grpc-status\x010" not in found.payload
    return f"{len(messages)} messages"


# Name: attack, and the reason that shoal_refusals_total counts it under ("" for none).
ATTACKS: dict[str, tuple[Callable[[Runtime], str], str]] = {
    "rapid reset (CVE-2023-44487)": (
        flood(_reset, 30_000, Code.ENHANCE_YOUR_CALM), "too many streams are reset"),
    "made you reset (CVE-2025-8671)": (
        flood(_provoked, 30_000, Code.ENHANCE_YOUR_CALM), "too many streams are reset"),
    "CONTINUATION flood": (continuation_flood, "the header block is too large"),
    "HPACK bomb": (hpack_bomb, "the header list is too large"),
    "HPACK table sizes": (hpack_sizes, "COMPRESSION_ERROR"),
    "SETTINGS flood": (
        flood(lambda _: f.settings({}), 100_000, Code.ENHANCE_YOUR_CALM),
        "too many control frames"),
    "SETTINGS that move windows": (settings_windows, "too many control frames"),
    "PING flood": (
        flood(lambda _: f.ping(b"12345678"), 100_000, Code.ENHANCE_YOUR_CALM), "too_many_pings"),
    "PING ACK flood": (
        flood(lambda _: f.ping(b"12345678", ack=True), 100_000, Code.ENHANCE_YOUR_CALM),
        "too many control frames"),
    "empty DATA flood": (
        flood(_on_a_call(lambda s: frame(f.DATA, s)), 100_000, Code.ENHANCE_YOUR_CALM),
        "too many control frames"),
    "PRIORITY flood": (
        flood(lambda _: frame(f.PRIORITY, 1, bytes(5)), 100_000, Code.ENHANCE_YOUR_CALM),
        "too many control frames"),
    "WINDOW_UPDATE flood": (
        flood(_on_a_call(lambda s: f.window_update(s, 1)), 100_000, Code.ENHANCE_YOUR_CALM),
        "too many control frames"),
    "window of 0": (zero_window, "an answer is not read"),
    "windows of a byte": (tiny_windows, ""),
    "window overflow": (window_overflow, "FLOW_CONTROL_ERROR"),
    "too many calls": (too_many_calls, "too many calls at once on a connection"),
    "connections that do not begin": (silent_connections, "a head is not completed"),
    "messages that are not completed": (slow_messages, "a message is not completed"),
    "unread answers over gRPC": (unread_answers, "answers are not read"),
    "compression bombs over gRPC": (gzip_bombs, ""),
    "lengths and shapes that lie over gRPC": (protobuf_lies, ""),
}  # fmt: skip
