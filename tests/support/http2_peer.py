"""The other end of an HTTP/2 connection: a fake transport, and the h2 library as client."""

import asyncio
from typing import Any

import h2.config
import h2.connection
import h2.events

from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.grpc.native import messages
from worker_runtime.protocols.grpc.native.call import Call
from worker_runtime.protocols.grpc.native.connection import Connection
from worker_runtime.protocols.grpc.native.messages import Turns
from worker_runtime.types.listening import (
    CompressionLevel,
    ConnectionLimits,
    GrpcOptions,
    Keepalive,
)

HEADERS = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/echo"),
    (":authority", "test"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
]


def framed(message: bytes) -> bytes:
    """A plain message of gRPC behind its prefix."""
    return b"".join(messages.framed([message], len(message)))


class FakeTransport:
    """``unread``: bytes that wait for the client, of what was written before.

    ``straight`` counts the bytes that a protocol had read into memory of its own.
    """

    def __init__(self) -> None:
        self.protocol: Any = None
        self.straight = 0
        self.written: list[bytes] = []
        self.closed = self.aborted = False
        self.reading = True
        self.unread = 0

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def deliver(self, data: bytes) -> None:
        """What one read of a socket, or the few that it takes, would give."""
        rest = memoryview(data)
        while rest and isinstance(self.protocol, asyncio.BufferedProtocol):
            room: Any = self.protocol.get_buffer(-1)
            size = min(len(room), len(rest))
            room[:size] = rest[:size]
            self.straight += size
            rest = rest[size:]
            self.protocol.buffer_updated(size)
        if rest:
            self.protocol.data_received(bytes(rest))

    def write(self, data: bytes) -> None:
        self.written.append(bytes(data))

    def writelines(self, pieces: list[Any]) -> None:
        self.written.append(b"".join(pieces))

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        """What was written since the last time."""
        data, self.written = b"".join(self.written), []
        return data


class EchoHandler:
    """Answers each message with itself as soon as it is there."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.messages: list[bytes | memoryview] = []
        self.cancelled = 0
        self.drains = 0
        self.half_closed = False

    @property
    def expects(self) -> bool:
        return not self.messages

    def message(self, data: bytes | memoryview) -> None:
        self.messages.append(data)

    def half_close(self) -> None:
        self.half_closed = True
        for message in self.messages:
            self.call.send([message], len(message))
        self.call.finish(0)

    def cancel(self) -> None:
        self.cancelled += 1

    def drained(self) -> None:
        self.drains += 1


class SilentHandler(EchoHandler):
    def half_close(self) -> None:
        self.half_closed = True


class Owner:
    """A server of one connection; ``handlers`` in the order of the calls."""

    def __init__(
        self,
        keepalive: Keepalive | None = None,
        level: CompressionLevel = CompressionLevel.NONE,
        limits: ConnectionLimits | None = None,
        **options: Any,
    ) -> None:
        self.options = GrpcOptions(keepalive=keepalive or Keepalive(), compression=level, **options)
        self.admission = ConnectionAdmission(limits or ConnectionLimits(), Refusals())
        self.compressed = {"/echo"}
        self.turns = Turns()
        self.service = self
        self.handlers: list[EchoHandler] = []
        self.members: set[Any] = set()

    def open(self, call: Call) -> EchoHandler | None:
        kinds = {"/echo": EchoHandler, "/silent": SilentHandler}
        kind = kinds.get(call.head.path)
        if kind is None:
            return None
        self.handlers.append(kind(call))
        return self.handlers[-1]

    def joined(self, connection: Connection) -> None:
        self.members.add(connection)

    def left(self, connection: Connection) -> None:
        self.members.discard(connection)


class Peer:
    """A client that follows the rules, on the other side of ``connection``."""

    def __init__(self, owner: Owner | None = None, *, greet: bool = True) -> None:
        self.owner = owner or Owner()
        self.transport = FakeTransport()
        self.connection = Connection(self.owner)
        self.transport.protocol = self.connection
        self.connection.connection_made(self.transport)  # type: ignore[arg-type] # a fake
        self.client = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        )
        self.events: list[h2.events.Event] = []
        if greet:
            self.client.initiate_connection()
            self.exchange()

    def receive(self, data: bytes) -> None:
        """Give the connection bytes, and the turns of the loop that it wants for them."""
        self.transport.deliver(data)
        while self.connection.backlog and not self.transport.closed:
            self.connection.go_on()

    def exchange(self) -> list[h2.events.Event]:
        """Carry bytes both ways until both are silent; the client's new events."""
        fresh: list[h2.events.Event] = []
        while True:
            out = self.client.data_to_send()
            if out:
                self.receive(out)
            back = self.transport.taken()
            if back:
                fresh += self.client.receive_data(back)
            if not out and not back:
                break
        self.events += fresh
        return fresh

    def call(self, body: bytes, path: str = "/echo", extra: Any = (), *, end: bool = True) -> int:
        """Open a call and send ``body`` as it is; the stream's number."""
        stream = self.client.get_next_available_stream_id()
        headers = [(k, path if k == ":path" else v) for k, v in HEADERS]
        self.client.send_headers(stream, [*headers, *extra])
        if body:
            self.send(stream, body, end=end)
        elif end:
            self.client.end_stream(stream)
        return stream

    def send(self, stream: int, body: bytes, *, end: bool) -> None:
        size = self.client.max_outbound_frame_size
        pieces = [body[i : i + size] for i in range(0, len(body), size)]
        for number, piece in enumerate(pieces):
            self.client.send_data(stream, piece, end_stream=end and number == len(pieces) - 1)
            self.exchange()

    def data(self, stream: int) -> bytes:
        """Everything that arrived on ``stream``."""
        return b"".join(
            event.data
            for event in self.events
            if isinstance(event, h2.events.DataReceived) and event.stream_id == stream
        )

    def trailers(self, stream: int) -> dict[str, str]:
        """The last headers of ``stream`` (empty before they came)."""
        kinds = (h2.events.TrailersReceived, h2.events.ResponseReceived)
        found = [
            event.headers
            for event in self.events
            if isinstance(event, kinds) and event.stream_id == stream
        ]
        return {str(k): str(v) for k, v in found[-1]} if found else {}
