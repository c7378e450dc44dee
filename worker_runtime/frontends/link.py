"""One end of the socket between a front end and the core: frames in, frames out.

A frame is two sizes, a message and, from the next multiple of 64 bytes on, tensors.
"""

import asyncio
from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np

from worker_runtime.frontends.messages import Message, encoded, legible
from worker_runtime.frontends.tensors import LARGE, Tail

_SIZES = Struct("<QQ")  # of the message, and of all that follows it with its padding
_ALIGNED = 64
_READ = 256 * 1024
_JOIN_BELOW = 128 * 1024
_UNSENT = 16 * 1024 * 1024  # bytes beyond which the other side is said to take none

Taken = Callable[[memoryview, bytes | memoryview, int], None]
"""Gets a message, its frame, and where in it the tensors begin."""


class Link(asyncio.BufferedProtocol):
    """``lost`` is called once; ``stuck`` with True while the other side takes nothing."""

    def __init__(
        self, taken: Taken, lost: Callable[[], None], stuck: Callable[[bool], None]
    ) -> None:
        self._taken = taken
        self._lost = lost
        self._stuck = stuck
        self._transport: Any = None
        self._buffer = memoryview(bytearray(_READ))
        self._end = 0  # of what was read into it
        self._large: memoryview | None = None  # a frame that does not fit
        self._filled = 0

    # --- transport callbacks ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._transport.set_write_buffer_limits(_UNSENT)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 # asyncio's
        self._transport = None
        self._lost()

    def pause_writing(self) -> None:
        self._stuck(True)

    def resume_writing(self) -> None:
        self._stuck(False)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 # asyncio's
        if self._large is not None:
            return self._large[self._filled :]
        return self._buffer[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._large is None:
            self._end += nbytes
            self._split()
            return
        self._filled += nbytes
        if self._filled == len(self._large):
            frame, self._large = self._large, None
            self._frame(frame)

    # --- frames ----------------------------------------------------------------------------------

    def _split(self) -> None:
        at, end, buffer = 0, self._end, self._buffer
        while end - at >= _SIZES.size:
            head, tail = _SIZES.unpack_from(buffer, at)
            size = _SIZES.size + head + tail
            if end - at < size:
                if size > len(buffer):
                    self._expect(buffer[at:end], size)
                    at = end
                break
            self._frame(_kept(buffer[at : at + size]))
            at += size
        if at and at < end:
            # why a copy: the two may overlap
            buffer[: end - at] = bytes(buffer[at:end])
        self._end = end - at

    def _expect(self, start: memoryview, size: int) -> None:
        """Read the rest of a frame into memory of its own, in which tensors are aligned."""
        self._large = _memory(size)
        self._large[: len(start)] = start
        self._filled = len(start)

    def _frame(self, frame: bytes | memoryview) -> None:
        head, _ = _SIZES.unpack_from(frame)
        end = _SIZES.size + head
        self._taken(memoryview(frame)[_SIZES.size : end], frame, end + _pad(end))

    def send(self, message: Message, tail: Tail | None = None) -> None:
        """Nothing happens once the other side has gone."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        try:
            head = encoded(message)
        except UnicodeEncodeError:
            head = encoded(legible(message))
        if tail is None or not tail.size:
            transport.write(_SIZES.pack(len(head), 0) + head)
            return
        pad = _pad(_SIZES.size + len(head))
        start = _SIZES.pack(len(head), pad + tail.size) + head + bytes(pad)
        if tail.size < _JOIN_BELOW:
            transport.write(b"".join((start, *tail.parts)))
        else:
            transport.writelines([start, *tail.parts])

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _kept(frame: memoryview) -> bytes | memoryview:
    """A frame out of a buffer that is used again."""
    if len(frame) < LARGE:
        return bytes(frame)
    found = _memory(len(frame))
    found[:] = frame
    return found


def _memory(size: int) -> memoryview:
    whole = np.empty(size + _ALIGNED, dtype=np.uint8)
    skip = -whole.ctypes.data % _ALIGNED
    return whole.data[skip : skip + size]


def _pad(end: int) -> int:
    return -end % _ALIGNED
