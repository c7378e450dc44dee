"""Request bodies that come in pieces: of known size, or in chunks."""

import re

import numpy as np

from worker_runtime.protocols.http.errors import HttpRefusal

COPY_BELOW = 16 * 1024  # slices of smaller bytes are cheaper than views, and aligned
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\Z")
_MAX_LINE = 4096
_MAX_CHUNKS = 65536


class SizedBody:
    """Feed bytes until the body is complete; what follows it comes back as the rest.

    ``lead`` bytes at its front are text: what is behind them, the first tensor, is aligned.
    """

    __slots__ = ("_at", "_view")

    def __init__(self, length: int, lead: int, start: bytes) -> None:
        # why numpy: it does not clear the memory first.
        pad = -max(0, lead) % 64
        self._view: memoryview = np.empty(pad + length, dtype=np.uint8).data[pad:]
        self._at = len(start)
        self._view[: self._at] = start

    @property
    def arrived(self) -> int:
        return self._at

    @property
    def left(self) -> int:
        """Bytes that are still to come."""
        return len(self._view) - self._at

    @property
    def room(self) -> memoryview:
        """Where the body goes on."""
        return self._view[self._at :]

    def grew(self, size: int) -> bytes | memoryview | None:
        """``size`` more bytes were written there: the body, once it is complete."""
        self._at += size
        if self._at < len(self._view):
            return None
        return bytes(self._view) if len(self._view) < COPY_BELOW else self._view

    def feed(self, data: bytes) -> tuple[bytes | memoryview | None, bytes]:
        """``(body, rest)`` once complete, ``(None, b"")`` before."""
        size = min(len(data), len(self._view) - self._at)
        self._view[self._at : self._at + size] = data[:size]
        return self.grew(size), data[size:]


class ChunkedBody:
    """Feed bytes until ``body`` is complete; what follows it comes back as the rest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pending = b""
        self._body = bytearray()  # why not a list: a piece may be a byte, and a byte an object
        self._size = 0
        self._count = 0
        self._left = 0  # of the chunk that is being read
        self._state = "size"

    @property
    def arrived(self) -> int:
        """Bytes of the body, without those that only say how it is cut."""
        return len(self._body)

    def feed(self, data: bytes) -> tuple[bytes | memoryview | None, bytes]:
        """``(body, rest)`` once complete, ``(None, b"")`` before. Raises HttpRefusal."""
        data = self._pending + data if self._pending else data
        self._pending = b""
        at = 0
        while True:
            if self._state == "data":
                size = min(self._left, len(data) - at)
                self._body += memoryview(data)[at : at + size]
                at += size
                self._left -= size
                if self._left:
                    return None, b""
                self._state = "end"
            line_end = data.find(b"\r\n", at)
            known = line_end if line_end >= 0 else len(data) - data.endswith(b"\r")
            if known - at > _MAX_LINE:
                raise _bad("line too long")
            if line_end < 0:
                self._pending = data[at:]
                return None, b""
            line, at = data[at:line_end], line_end + 2
            if self._line(line):
                small = len(self._body) < COPY_BELOW
                return bytes(self._body) if small else memoryview(self._body), data[at:]

    def _line(self, line: bytes) -> bool:
        """Take one line between chunks; True when it ended the body."""
        if self._state == "end":
            if line:
                raise _bad("chunk longer than its size")
            self._state = "size"
        elif self._state == "trailer":
            return not line
        else:
            match = _SIZE.match(line)
            if match is None:
                raise _bad("bad chunk size")
            self._left = int(match[1], 16)
            self._size += self._left
            if self._size > self._limit:
                raise HttpRefusal(
                    400,
                    f"Request size exceeds the maximum allowed value of {self._limit} bytes. Use "
                    "--http-max-input-size to increase the limit.",
                    close=True,
                )
            self._count += 1
            if self._left and self._count > _MAX_CHUNKS:
                raise _bad(f"more than {_MAX_CHUNKS} chunks")
            self._state = "data" if self._left else "trailer"
        return False


def _bad(what: str) -> HttpRefusal:
    return HttpRefusal(400, f"malformed chunked body: {what}", close=True)
