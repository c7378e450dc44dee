"""One HTTP/1.1 connection: bytes to requests, one at a time, answers in order.

Requests that fit into a few reads come as bytes; a large body is read straight into the memory
that its tensors will be views of.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from worker_runtime.errors import Internal
from worker_runtime.protocols.http import replies
from worker_runtime.protocols.http.application import App, Body
from worker_runtime.protocols.http.chunked import ChunkedBody
from worker_runtime.protocols.http.errors import HttpRefusal, answered, error_body
from worker_runtime.protocols.http.heads import MAX_HEAD_BYTES, Head
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.sized_body import COPY_BELOW, SizedBody
from worker_runtime.protocols.http.slices import Later
from worker_runtime.protocols.http.standstill import Standstill, State
from worker_runtime.protocols.into_memory import IntoMemory
from worker_runtime.types.listening import ConnectionLimits
from worker_runtime.types.request import Arrays, InferRequest, Response

_MAX_AHEAD = 256 * 1024  # bytes of pipelined requests kept while one is being answered
_READ_INTO_ABOVE = 64 * 1024
_MAX_DISCARDED = 64 * 1024 * 1024  # bytes of a refused body whose end is not known
_MAX_UNREAD = 64 * 1024 * 1024  # bytes of a stream that wait for a client to read
_JOIN_BELOW = 64 * 1024  # smaller answers leave in one piece
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_EMPTY = b""
_JSON = b"application/json"


class Connection(asyncio.Protocol):
    """A sink for one inference at a time. Everything runs in the event loop."""

    __slots__ = (
        "_app",
        "_body",
        "_busy",
        "_chunks",
        "_discard",
        "_ending",
        "_feeding",
        "_head",
        "_paused",
        "_rest",
        "_standstill",
        "_transport",
        "_write_paused",
        "progress",
        "request",
    )

    def __init__(self, app: App) -> None:
        self._app = app
        self._transport: Any = None
        self._head: Head | None = None
        self._rest = _EMPTY
        self._body: SizedBody | None = None  # that is being read, or ...
        self._chunks: ChunkedBody | None = None
        self._discard = 0  # bytes of a refused body that are still to come
        self._ending = False  # close once they have come
        self._busy = False
        self._feeding = False
        self._paused = False
        self._write_paused = False
        self.request: InferRequest | None = None
        self.progress = 0
        self._standstill = Standstill()

    # --- transport callbacks ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._app.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 # asyncio's
        self._app.connections.discard(self)
        request, self.request = self.request, None
        if request is not None:
            self._app.cancelled(request)
        self._transport = None
        self._rest = _EMPTY
        self._body = self._chunks = None

    def data_received(self, data: bytes) -> None:
        self.progress += 1
        if self._body is not None:
            body, data = self._body.feed(data)
            if body is not None:
                self._body_complete(body)
        elif self._rest:
            data = self._rest + data
            self._rest = _EMPTY
        if data:
            self._feed(data)

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        self._standstill.resume()
        self._go_on()

    def overdue(self, now: float, limits: ConnectionLimits) -> str:
        """Why this connection is let go: it has stood still for too long. "" when it has not."""
        if self._transport is None:
            return ""
        unread = self._transport.get_write_buffer_size()
        state = State(unread, self.progress, busy=self._busy, stalled=self.stalled)
        return self._standstill.overdue(now, limits, state)

    @property
    def stalled(self) -> bool:
        """A request has begun to arrive and is not complete."""
        return bool(self._discard) or (
            not self._busy
            and (bool(self._rest) or self._body is not None or self._chunks is not None)
        )

    @property
    def idle(self) -> bool:
        return not self._busy

    @property
    def closed(self) -> bool:
        return self._transport is None

    # --- reading ---------------------------------------------------------------------------

    def _feed(self, data: bytes) -> None:
        """Take requests out of ``data`` until one is in the works or more bytes are needed."""
        self._feeding = True
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
                else:
                    data = self._one(data)
        except HttpRefusal as refusal:
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
            return _EMPTY
        if data.startswith(b"\r\n"):  # a stray line break between requests is allowed
            return data[2:]
        end += 4
        head = self._app.heads.get(data[:end])
        if head.chunked:
            self._head = head
            self._chunks = ChunkedBody(self._app.body_limit(head))
            if head.expects_continue:
                self._write(_CONTINUE)
            return data[end:] or _EMPTY
        stop = end + head.content_length
        if stop <= len(data):
            self._busy = True
            self._head = head
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
        self._body = SizedBody(length, head.json_length, start)
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
        assert self._body is not None  # noqa: S101
        body = self._body.grew(len(piece))
        if body is not None:
            self._transport.set_protocol(self)
            self._body_complete(body)

    def _body_complete(self, body: Body) -> None:
        self._body = None
        try:
            self._dispatch(body)
        except HttpRefusal as refusal:
            self.refuse(refusal)

    def _chunk(self, chunks: ChunkedBody, data: bytes) -> bytes:
        """Add to a body in chunks; what lies behind it is returned. Raises HttpRefusal."""
        body, rest = chunks.feed(data)
        if body is not None:
            self._chunks = None
            self._dispatch(body)
        return rest

    def _dispatch(self, body: Body) -> None:
        assert self._head is not None  # noqa: S101
        self._busy = True
        self._app.handle(self, self._head, body)

    def _keep(self, data: bytes) -> None:
        self._rest = data
        if len(data) > _MAX_AHEAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

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

    # --- answering -------------------------------------------------------------------------

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        if self.request is not request:
            return  # the client has gone
        self.request = None
        head = self._head
        assert head is not None  # noqa: S101
        try:
            start, parts, size = self._app.encode(head, request, outputs)
        except Exception as error:
            self._answer_later(error)
            return
        if not head.keep_alive or head.old_http:
            start = start.replace(b"\r\n", replies.connection_line(head), 1)
        self._send(start, parts, size, close=not head.keep_alive)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        """An answer that names its outputs; here a request has one, and it ends the request."""
        if self.request is not request or not (final or response):
            return
        if response is None:
            self.fail(request, Internal("expected a single response, got 0"))
            return
        if response.error is not None:
            self.fail(request, response.error)
            return
        self.request = None
        head = self._head
        assert head is not None  # noqa: S101
        try:
            answer = self._app.encode_any(
                head, request, response.names, response.arrays, response.parameters
            )
        except Exception as error:
            self._answer_later(error)
            return
        self.answer(answer)

    def answer(self, answer: Answer) -> None:
        start, parts, size = answer
        head = self._head
        assert head is not None  # noqa: S101
        if not head.keep_alive or head.old_http:
            start = start.replace(b"\r\n", replies.connection_line(head), 1)
        self._send(start, parts, size, close=not head.keep_alive)

    def _answer_later(self, why: Exception) -> None:
        """Or never. Busy until then: what the client sends meanwhile is kept."""
        if isinstance(why, Later):
            self._app.answer_later(self, why)
        else:
            self.fail_with(why)

    def fail(self, request: InferRequest, error: Exception) -> None:
        if self.request is not request:
            return
        self.request = None
        self.fail_with(error)

    def fail_with(self, error: Exception) -> None:
        head = self._head
        status, headers = answered(error, head.path if head is not None else "")
        self.reply(status, error_body(error), headers=headers)

    def refuse(self, refusal: HttpRefusal) -> None:
        """Answer what never became a request; the connection ends if its framing is lost."""
        self._busy = True
        if refusal.close and self._chunks is not None:
            self._chunks, self._discard = None, _MAX_DISCARDED
        self.reply(
            refusal.status, error_body(refusal), headers=refusal.headers, close=refusal.close
        )
        if self._ending and self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()  # nothing more comes: a client that sent all can go

    def reply(
        self,
        status: int,
        body: bytes = b"",
        *,
        content_type: bytes = _JSON,
        headers: bytes = b"",
        close: bool = False,
    ) -> None:
        """A whole answer; ``headers`` are complete lines."""
        head = self._head
        close = close or head is None or not head.keep_alive
        start = replies.whole(status, head, content_type, headers, len(body), close=close)
        if head is not None and head.method == "HEAD":
            body = b""
        self._send(start, (body,), len(body), close=close)

    def begin(self, status: int, content_type: bytes, headers: bytes = b"") -> None:
        """Start an answer that comes in pieces; ``headers`` are complete lines."""
        assert self._head is not None  # noqa: S101
        self._write(replies.streamed(status, self._head, content_type, headers))

    def piece(self, data: bytes) -> None:
        """A piece of it; it leaves at once. A client that reads none of them is let go."""
        assert self._head is not None  # noqa: S101
        transport = self._transport
        if self._write_paused and transport and transport.get_write_buffer_size() > _MAX_UNREAD:
            transport.abort()
            return
        self._standstill.late += len(data) if self._write_paused else 0
        self._write(data if self._head.old_http else b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        """The answer is complete."""
        head = self._head
        assert head is not None  # noqa: S101
        self.request = None
        last = b"" if head.old_http else b"0\r\n\r\n"
        self._send(last, (), 0, close=head.old_http or not head.keep_alive)

    def _send(self, start: bytes, parts: Sequence[Any], size: int, *, close: bool) -> None:
        transport = self._transport
        # why: uvloop raises on a closed transport instead of ignoring the write.
        if transport is not None and not transport.is_closing():
            if size < _JOIN_BELOW:
                transport.write(b"".join((start, *parts)))
            else:
                transport.writelines([start, *parts])
            if close and self._discard:
                self._ending = True  # a client that still sends would not see the answer
            elif close:
                transport.close()
        self._busy = False
        if self._rest or self._paused:
            self._go_on()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """End the connection once what was written is read; an answer in the works is lost."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End the connection now."""
        if self._transport is not None:
            self._transport.abort()
