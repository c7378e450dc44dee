"""The sending side of one HTTP/1.1 connection: answers, in the order of their requests."""

import asyncio
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from worker_runtime.errors import Internal
from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.protocols.admission import Account, Buffers
from worker_runtime.protocols.http import replies
from worker_runtime.protocols.http.application import App, Call
from worker_runtime.protocols.http.errors import HttpRefusal, answered, error_body
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.standstill import Standstill
from worker_runtime.protocols.slices import Later
from worker_runtime.types.request import Arrays, InferRequest, Response

_MAX_UNREAD = 64 * 1024 * 1024  # bytes of a stream that wait for a client to read
_JOIN_BELOW = 64 * 1024  # smaller answers leave in one piece
_JSON = b"application/json"
_EMPTY = b""


class Outgoing(asyncio.Protocol):
    """A sink for one inference at a time, and what ends the connection.

    why the receiving side is a subclass and no second object: each asks for what the other knows.
    """

    __slots__ = (
        "_account",
        "_app",
        "_busy",
        "_discard",
        "_ending",
        "_head",
        "_held",
        "_paused",
        "_rest",
        "_standstill",
        "_transport",
        "_unread",
        "_write_paused",
        "call",
        "request",
        "request_id",
    )

    def __init__(self, app: App, buffers: Buffers | None = None) -> None:
        self._app = app
        self._transport: Any = None
        self._head: Head | None = None
        self._rest = _EMPTY  # what came and is not looked at yet
        self._discard = 0  # bytes of a refused body that are still to come
        self._ending = False  # close once they have come
        self._busy = False
        self._paused = False  # nothing more is read
        self._write_paused = False
        self.request: InferRequest | None = None
        self.request_id = b""  # ``padded``, of a header that is not in the head
        self.call: Call | None = None  # where it is one of several
        self._standstill = Standstill()
        buffers = buffers or Buffers(0, 0, Refusals())
        self._account = Account(buffers, "http")
        self._held = 0  # bytes of it for the request that arrives or is answered, and ...
        self._unread = 0  # for answers that are not read

    def pause_writing(self) -> None:
        self._write_paused = True
        self._leave_unread(self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._write_paused = False
        self._account.give(self._unread)
        self._unread = 0
        self._standstill.resume()
        self._go_on()

    def _leave_unread(self, size: int) -> None:
        if self._account.take(size):
            self._unread += size
        else:
            self.abort()

    def _go_on(self) -> None:
        """After an answer: take up what was kept while it was in the works."""
        raise NotImplementedError

    @property
    def closed(self) -> bool:
        return self._transport is None

    @property
    def local(self) -> bool:
        """Whoever asks does so from this machine, by its loopback addresses."""
        peer = None if self._transport is None else self._transport.get_extra_info("peername")
        if not peer:
            return False
        address = ip_address(peer[0])
        return (getattr(address, "ipv4_mapped", None) or address).is_loopback

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
        self.reply(
            refusal.status, error_body(refusal), headers=refusal.headers, close=refusal.close
        )

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

    def piece(self, *parts: bytes) -> None:
        """A piece of it; it leaves at once. A client that reads none of them is let go.

        ``parts`` are one piece, so that a large one is not taken for many that nobody reads.
        """
        assert self._head is not None  # noqa: S101
        transport = self._transport
        if self._write_paused and transport and transport.get_write_buffer_size() > _MAX_UNREAD:
            transport.abort()
            return
        size = sum(map(len, parts))
        if self._write_paused:
            self._standstill.late += size
            self._leave_unread(size)
        if transport is None or transport.is_closing():
            return
        chunk = parts if self._head.old_http else (b"%x\r\n" % size, *parts, b"\r\n")
        if size < _JOIN_BELOW:
            transport.write(b"".join(chunk))
        else:
            transport.writelines(chunk)

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
        if self._held:
            self._account.give(self._held)
            self._held = 0
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
