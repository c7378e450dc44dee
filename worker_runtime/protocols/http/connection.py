"""One HTTP/1.1 connection: bytes to requests, one at a time, answers in order.

Requests that fit into a few reads come as bytes; a large body is read straight into the memory
that its tensors will be views of.
"""

import asyncio
from time import monotonic

from worker_runtime.protocols.admission import NO_ROOM, UNCOUNTED, Buffers
from worker_runtime.protocols.http.application import App, Body
from worker_runtime.protocols.http.bodies import COPY_BELOW, ChunkedBody, SizedBody
from worker_runtime.protocols.http.errors import HttpRefusal, error_body, no_room
from worker_runtime.protocols.http.heads import MAX_HEAD_BYTES, Head
from worker_runtime.protocols.http.outgoing import Outgoing
from worker_runtime.protocols.http.standstill import State
from worker_runtime.protocols.into_memory import IntoMemory
from worker_runtime.types.listening import ConnectionLimits

_MAX_AHEAD = 256 * 1024  # bytes of pipelined requests kept while one is being answered
_TURN_S = 0.0005  # for pipelined requests, in one turn of the loop
_READ_INTO_ABOVE = 64 * 1024
_NO_ROOM = 503  # which is counted where it is found
_MAX_DISCARDED = 64 * 1024 * 1024  # bytes of a refused body whose end is not known
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_EMPTY = b""


class Connection(Outgoing):
    """A sink for one inference at a time. Everything runs in the event loop."""

    __slots__ = ("_body", "_chunks", "_feeding", "_head_since", "_joined", "progress")

    def __init__(self, app: App, buffers: Buffers | None = None) -> None:
        super().__init__(app, buffers)
        self._joined = _EMPTY  # what is there of a head that came in pieces
        self._head_since: float | None = monotonic()  # when it began
        self._body: SizedBody | None = None  # that is being read, or ...
        self._chunks: ChunkedBody | None = None
        self._feeding = False
        self.progress = 0

    # --- transport callbacks ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._app.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 # asyncio's
        self._app.connections.discard(self)
        self._account.close()
        self._held = self._unread = 0
        request, self.request = self.request, None
        call, self.call = self.call, None
        if call is not None:
            call.give_up()
        elif request is not None:
            self._app.cancelled(request)
        self._transport = None
        self._rest = _EMPTY
        self._body = self._chunks = None

    def data_received(self, data: bytes) -> None:
        self.progress += 1
        if self._body is not None:
            data = self._fill(self._body, data)
        elif self._rest:
            data = self._joined = self._rest + data
            self._rest = _EMPTY
            self._feed(data)
            self._joined = _EMPTY
            return
        if data:
            self._feed(data)

    def overdue(self, now: float, limits: ConnectionLimits) -> str:
        """Why this connection is let go: it has stood still for too long. "" when it has not."""
        if self._transport is None:
            return ""
        unread = self._transport.get_write_buffer_size()
        reading = self._body or self._chunks
        body: object = reading
        arrived = reading.arrived if reading is not None else 0
        if self._discard:
            body, arrived = self._standstill, -self._discard
        head_since = None
        if not self.progress or (self._rest and not self._busy and body is None):
            head_since = self._head_since
        state = State(unread, self.progress, self._busy, head_since, body, arrived)
        return self._standstill.overdue(now, limits, state)

    @property
    def idle(self) -> bool:
        return not self._busy

    # --- reading ---------------------------------------------------------------------------

    def _feed(self, data: bytes) -> None:
        """Take requests out of ``data`` until one is in the works or more bytes are needed."""
        self._feeding = True
        began = 0.0
        try:
            while data:
                if self._discard:
                    taken = min(self._discard, len(data))
                    self._discard -= taken
                    data = data[taken:]
                    if self._ending and not self._discard:
                        self.close()
                        return
                elif self._busy or self._write_paused:
                    self._keep(data)
                    return
                elif self._chunks is not None:
                    data = self._chunk(self._chunks, data)
                elif not began:
                    data = self._one(data)
                    began = monotonic() if data else 0.0
                elif monotonic() - began < _TURN_S:
                    data = self._one(data)
                else:
                    self._leave(data)
                    return
        except HttpRefusal as refusal:
            if refusal.status != _NO_ROOM:
                self._account.refused("a request cannot be framed")
            self.refuse(refusal)
        finally:
            self._feeding = False

    def _one(self, data: bytes) -> bytes:
        """Start the request at the front of ``data``; what lies behind it is returned."""
        end = data.find(b"\r\n\r\n")
        if end > MAX_HEAD_BYTES or (end < 0 and len(data) > MAX_HEAD_BYTES):
            raise HttpRefusal(431, "request head is too large", close=True)
        if end < 0:
            self._rest = data
            if data is not self._joined:
                self._head_since = monotonic()
            return _EMPTY
        if data.startswith(b"\r\n"):  # a stray line break between requests is allowed
            return data[2:]
        end += 4
        heads = self._app.heads
        head = heads.get(data[:end])
        self.request_id = heads.request_id
        if head.chunked:
            self._head = head
            self._chunks = ChunkedBody(self._app.body_limit(head))
            if head.expects_continue:
                self._write(_CONTINUE)
            return data[end:] or _EMPTY
        stop = end + head.content_length
        if stop <= len(data):
            self._head = head
            if not self._take_body(head.content_length):
                raise no_room(NO_ROOM)
            self._busy = True
            body = data[end:stop]
            self._app.handle(self, head, body if len(body) < COPY_BELOW else memoryview(body))
            return data[stop:]
        self._expect_body(head, data[end:])
        return _EMPTY

    def _expect_body(self, head: Head, start: bytes) -> None:
        """Read the rest of a body of known size into its own memory, or past it."""
        length = head.content_length
        self._head = head
        too_large = self._app.too_large(head)
        if too_large:
            # why nothing to discard: who waits for leave to send the body will not send it now.
            self._discard = 0 if head.expects_continue else length - len(start)
            self._busy = True
            refusal = error_body(HttpRefusal(400, too_large))
            self.reply(400, refusal, close=head.expects_continue)
            return
        body = self._body = SizedBody(length, head.json_length, start)
        if not self._take_body(len(start)):
            self.read_past(body.left)
            return
        if head.expects_continue and not start:
            self._write(_CONTINUE)
        if length - len(start) > _READ_INTO_ABOVE and self._transport is not None:
            IntoMemory(self, self._transport)

    def room(self) -> memoryview:
        """Where the body goes on."""
        assert self._body is not None  # noqa: S101
        return self._body.room

    def filled(self, piece: memoryview) -> None:
        """More of the body was read into its memory."""
        self.progress += 1
        sized = self._body
        assert sized is not None  # noqa: S101
        if not self._take_body(len(piece)):
            self._transport.set_protocol(self)
            self.read_past(sized.left - len(piece))
            return
        body = sized.grew(len(piece))
        if body is not None:
            self._transport.set_protocol(self)
            self._body_complete(body)

    def _body_complete(self, body: Body) -> None:
        self._body = None
        try:
            self._dispatch(body)
        except HttpRefusal as refusal:
            self.refuse(refusal)

    def _fill(self, sized: SizedBody, data: bytes) -> bytes:
        """Add to a body that comes in pieces; what lies behind it is returned."""
        size = min(len(data), sized.left)
        if not self._take_body(size):
            self.read_past(sized.left - size)
            return _EMPTY
        body, rest = sized.feed(data)
        if body is not None:
            self._body_complete(body)
        return rest

    def _chunk(self, chunks: ChunkedBody, data: bytes) -> bytes:
        """The same, in chunks. Raises HttpRefusal."""
        if not self.take(len(data)):
            raise no_room(NO_ROOM)
        body, rest = chunks.feed(data)
        if body is not None:
            self._chunks = None
            self._dispatch(body)
        return rest

    def _take_body(self, size: int) -> bool:
        """Count bytes of a body of known size; a small one is always served, in whatever pieces."""
        head = self._head
        assert head is not None  # noqa: S101
        return head.content_length <= UNCOUNTED or self.take(size)

    def take(self, size: int) -> bool:
        """Count bytes of the request until it is answered; False when they are too many."""
        if not self._account.take(size):
            return False
        self._held += size
        return True

    def read_past(self, size: int) -> None:
        """Refuse the request, of whose body ``size`` bytes are still to come."""
        self._body = None
        self._discard = size
        self.refuse(no_room(NO_ROOM))

    def refuse(self, refusal: HttpRefusal) -> None:
        """Besides, read on a while: a client that still sends would not see why."""
        if refusal.close and self._chunks is not None:
            self._chunks, self._discard = None, _MAX_DISCARDED
        super().refuse(refusal)
        if self._ending and self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()  # nothing more comes: a client that sent all can go

    def _dispatch(self, body: Body) -> None:
        assert self._head is not None  # noqa: S101
        self._busy = True
        self._app.handle(self, self._head, body)

    def _keep(self, data: bytes) -> None:
        self._rest = data
        if len(data) > _MAX_AHEAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _leave(self, data: bytes) -> None:
        """For the next turn of the loop: a read may have thousands of requests."""
        self._keep(data)
        self._head_since = monotonic()
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """After an answer: take up what was kept while it was in the works."""
        if self._busy or self._write_paused or self._feeding or self._transport is None:
            return
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if self._rest:
            data, self._rest = self._rest, _EMPTY
            self._feed(data)
