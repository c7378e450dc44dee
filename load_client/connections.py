"""Connections of HTTP/1.1 that are never waited for: one request at a time on each."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

READ_BYTES: Final = 1 << 18
LARGEST_HEAD: Final = 1 << 16
LARGEST_ANSWER: Final = 1 << 30
SAID_BYTES: Final = 300  # of an answer that is an error
OK: Final = 200


class Broken(Exception):
    """The connection is of no more use."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    closes: bool
    said: str = ""  # the first bytes of one that is an error


@dataclass(slots=True)
class _Head:
    """The head of the answer before: the next one is mostly the same, byte for byte."""

    text: bytes = b""
    size: int = -1  # of head and body
    closes: bool = False


class Connection:
    """``sent_at`` is of whoever uses it. Raises OSError where nothing listens."""

    def __init__(
        self, address: tuple[str, int], tls: ssl.SSLContext | None, connect_s: float
    ) -> None:
        plain = socket.create_connection(address, timeout=connect_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._tls = tls.wrap_socket(plain, server_hostname=address[0]) if tls else None
        self.socket: socket.socket = self._tls or plain
        self.socket.setblocking(False)
        self._left = memoryview(b"")  # of the request, not sent yet
        self._got = bytearray()
        self._head = _Head()
        self.sent_at = 0.0

    @property
    def sending(self) -> bool:
        return bool(self._left)

    def close(self) -> None:
        self.socket.close()

    def send(self, request: bytes) -> None:
        """Raises Broken."""
        self._left = memoryview(request)
        self.send_more()

    def send_more(self) -> None:
        """Raises Broken."""
        try:
            while self._left:
                self._left = self._left[self.socket.send(self._left) :]
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        except OSError as error:
            raise Broken("connection lost") from error

    def receive(self) -> Answer | None:
        """The answer, once all of it is there. Raises Broken."""
        data = self._read()
        head = self._head
        if not self._got and len(data) == head.size and data.startswith(head.text):
            return Answer(OK, head.closes)
        self._got += data
        return self._answer()

    def _read(self) -> bytes:
        try:
            data = self.socket.recv(READ_BYTES)
            while self._tls is not None and self._tls.pending():
                data += self.socket.recv(READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        except OSError as error:
            raise Broken("connection lost") from error
        if not data:
            raise Broken("connection closed before the answer")
        return data

    def _answer(self) -> Answer | None:
        end = self._got.find(b"\r\n\r\n")
        if end < 0:
            if len(self._got) > LARGEST_HEAD:
                raise Broken("no answer of HTTP/1.1")
            return None
        text = bytes(self._got[: end + 4])
        status, fields = _read_head(text)
        closes = fields.get(b"connection", b"").lower() == b"close"
        if b"chunked" in fields.get(b"transfer-encoding", b"").lower():
            size = chunked_end(self._got, end + 4)
        else:
            size = end + 4 + _length(fields)
            if status == OK:
                self._head = _Head(text, size, closes)
        if size < 0 or len(self._got) < size:
            return None
        said = ""
        if status != OK:
            said = bytes(self._got[end + 4 : end + 4 + SAID_BYTES]).decode(errors="replace")
        del self._got[:size]
        return Answer(status, closes, said)


def _read_head(text: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = text[:-4].split(b"\r\n")
    words = first.split(b" ", 2)
    if not first.startswith(b"HTTP/1.") or len(words) < 2 or not words[1].isdigit():
        raise Broken("no answer of HTTP/1.1")
    pairs = (line.partition(b":") for line in lines)
    return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _length(fields: dict[bytes, bytes]) -> int:
    text = fields.get(b"content-length", b"")
    if not text.isdigit() or int(text) > LARGEST_ANSWER:
        raise Broken("an answer without a length")
    return int(text)


def chunked_end(data: bytes | bytearray, at: int) -> int:
    """Where a body in chunks that begins at ``at`` ends; -1: it is not all there. Raises Broken."""
    while True:
        line = data.find(b"\r\n", at)
        if line < 0:
            return -1
        try:
            size = int(bytes(data[at:line]).partition(b";")[0], 16)
        except ValueError:
            raise Broken("an answer in broken chunks") from None
        if size > LARGEST_ANSWER:
            raise Broken("an answer without a length")
        at = line + 2
        if size == 0:
            end = data.find(b"\r\n\r\n", line)
            return -1 if end < 0 else end + 4
        at += size + 2
        if at > len(data):
            return -1


Opener = Callable[[], Connection]
