"""The bytes of tensors behind a message: where each one lies, and how few copies are made of it.

Small ones follow each other. Larger ones begin at a multiple of 64 bytes, as models like it, and
are never copied on this side: the socket takes them from where they are.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from worker_runtime.protocols.slices import Steps
from worker_runtime.protocols.strings import written_in_slices
from worker_runtime.types.request import Buffer
from worker_runtime.types.tensor import MANY_STRINGS, write_strings

LARGE = 16 * 1024
_ALIGNED = 64
_PADDING = bytes(_ALIGNED)


class Tail:
    """What follows a message. ``parts`` and ``size`` are open to who knows that all is small."""

    __slots__ = ("parts", "size")

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.size = 0

    def add(self, raw: Any, size: int) -> None:
        """``raw`` are bytes that nobody changes any more, or a view of such."""
        if size >= LARGE:
            self.align()
        self.size += size
        self.parts.append(raw)

    def align(self) -> None:
        pad = -self.size % _ALIGNED
        if pad:
            self.parts.append(_PADDING[:pad])
            self.size += pad

    def join(self, other: "Tail") -> None:
        """Let ``other`` come behind, from an aligned place on: see ``behind``."""
        if other.parts:
            self.align()
            self.size += other.size
            self.parts += other.parts


def behind(start: int, size: int) -> int:
    """Where a joined Tail begins: the first has ``size`` bytes, and starts aligned."""
    return start + size + -size % _ALIGNED


class Reading:
    """The tensors of one message, in the order in which they were added."""

    __slots__ = ("_at", "_frame", "_start")

    def __init__(self, frame: bytes | memoryview, start: int) -> None:
        self._frame = frame
        self._start = start
        self._at = 0

    def take(self, size: int) -> bytes | memoryview:
        """The next ``size`` bytes; small ones as a copy, which is aligned."""
        at = self._at
        if size >= LARGE:
            at += -at % _ALIGNED
            self._at = at + size
            return memoryview(self._frame)[self._start + at : self._start + at + size]
        self._at = at + size
        start = self._start + at
        found = self._frame[start : start + size]
        return found if type(found) is bytes else bytes(found)


def has_many_strings(tensors: Iterable[Any]) -> bool:
    """Whether writing them in one piece would hold the event loop up."""
    for tensor in tensors:
        if type(tensor) is np.ndarray and tensor.size > MANY_STRINGS and tensor.dtype.hasobject:
            return True
    return False


def strings_written(tensors: Iterable[Any]) -> Steps[list[Any]]:
    """The same, many BYTES in their wire form."""
    found = list[Any]()
    for tensor in tensors:
        if has_many_strings((tensor,)):
            tensor = b"".join((yield from written_in_slices(tensor)))
        found.append(tensor)
    return found


def raw_input(buffer: Buffer) -> Any:
    """The wire form of an input."""
    if not isinstance(buffer, np.ndarray):
        return buffer
    return raw_output(buffer)


def raw_output(array: "np.ndarray[Any, Any]") -> Any:
    """The wire form of a tensor: a copy where that is cheaper than to hold on to it."""
    if array.dtype.hasobject:
        return write_strings(array)
    if array.nbytes < LARGE:
        return array.tobytes()
    return np.ascontiguousarray(array).data.cast("B")
