"""Tensors between two processes: blocks in anonymous shared memory, freed when nobody looks.

Each direction has one writer, which owns an ``Arena`` of segments and hands out blocks, and one
reader, which maps the segments in a ``Window`` and looks at blocks without copying them. A block
is free again when the last array on it is gone; the reader tells the writer with its next message.
The segments have no name: when both processes are gone, so is the memory.
"""

import contextlib
import mmap
import os
import threading
from collections import deque
from typing import Any, Optional, Union

import numpy as np

_ALIGN = 64
_FIRST_BYTES = 1 << 20
_LARGE = 1 << 20
_KEEP_BYTES = 64 << 20  # idle segments above this are given back

Block = tuple[int, int, int]  # segment, offset, size in bytes
_NO_SEGMENT, _LENT = -1, -2


class _Segment:
    """One piece of memory and its free ranges, sorted by offset."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.fd = os.memfd_create(f"shoal-{os.getpid()}-{number}", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, size)
        self.view = memoryview(mmap.mmap(self.fd, size))
        self.array = np.frombuffer(self.view, np.uint8)
        self.free = [(0, size)]

    def take(self, size: int) -> int:
        """The offset of ``size`` free bytes, -1 when there are none in one piece."""
        for position, (start, stop) in enumerate(self.free):
            if stop - start >= size:
                if stop - start == size:
                    del self.free[position]
                else:
                    self.free[position] = (start + size, stop)
                return start
        return -1

    def give(self, start: int, size: int) -> None:
        """Free a range and join it with its neighbours."""
        ranges, stop, at = self.free, start + size, 0
        while at < len(ranges) and ranges[at][0] < start:
            at += 1
        if at < len(ranges) and ranges[at][0] == stop:
            stop = ranges.pop(at)[1]
        if at and ranges[at - 1][1] == start:
            start = ranges.pop(at - 1)[0]
            at -= 1
        ranges.insert(at, (start, stop))

    @property
    def idle(self) -> bool:
        return self.free == [(0, self.size)]


def _raw(array: Any) -> Any:
    try:
        return memoryview(array).cast("B")
    except (TypeError, ValueError):  # types that the buffer protocol cannot name
        return array.reshape(-1).view(np.uint8)


class Arena:
    """The writing side. Any thread may call it."""

    def __init__(self, limit_bytes: int = 0) -> None:
        self._segments: dict[int, _Segment] = {}
        self._next = 0
        self._limit = limit_bytes
        self.lent_bytes = 0
        self.lent_blocks = 0
        self._lent: dict[int, Any] = {}
        self._lendings = 0
        self._lock = threading.Lock()
        # Descriptors that the reader has not seen yet, and numbers that it may forget.
        self.fresh: list[tuple[int, int, int]] = []  # number, fd, size
        self.gone: list[int] = []

    @property
    def held_bytes(self) -> int:
        return sum(segment.size for segment in self._segments.values())

    def put(self, data: Any, size: int) -> Block:
        """Copy ``size`` bytes of a contiguous array, bytes or view into a new block.

        Raises MemoryError when the limit is reached.
        """
        if not size:
            return (_NO_SEGMENT, 0, 0)
        room = -(-size // _ALIGN) * _ALIGN
        with self._lock:
            segment, offset = self._find(room)
            self.lent_bytes += room
            self.lent_blocks += 1
        if isinstance(data, np.ndarray):
            data = _raw(data)
        if size < _LARGE:
            segment.view[offset : offset + size] = data
        else:  # numpy lets other threads run meanwhile
            segment.array[offset : offset + size] = np.frombuffer(data, np.uint8)
        return (segment.number, offset, size)

    def lend(self, thing: Any) -> int:
        """Keep a thing that the reader knows by this number until it gives ``lent`` back."""
        with self._lock:
            self._lendings += 1
            self._lent[self._lendings] = thing
            return self._lendings

    def _find(self, room: int) -> "tuple[_Segment, int]":
        for segment in self._segments.values():
            offset = segment.take(room)
            if offset >= 0:
                return segment, offset
        size = max(_FIRST_BYTES, 1 << (room - 1).bit_length())
        if self._limit and self.held_bytes + size > self._limit:
            raise MemoryError(
                f"{size} more bytes of shared memory would exceed the limit of {self._limit}"
            )
        segment = _Segment(self._next, size)
        self._next += 1
        self._segments[segment.number] = segment
        self.fresh.append((segment.number, segment.fd, size))
        return segment, segment.take(room)

    def free(self, blocks: "list[Block]") -> None:
        """The reader is done with these; large idle segments are given back to the system."""
        with self._lock:
            for number, offset, size in blocks:
                segment = self._segments.get(number)
                if segment is not None:
                    room = -(-size // _ALIGN) * _ALIGN
                    segment.give(offset, room)
                    self.lent_bytes -= room
                    self.lent_blocks -= 1
                elif number == _LENT:
                    self._lent.pop(offset, None)
            if self.held_bytes > _KEEP_BYTES:
                for segment in [s for s in self._segments.values() if s.idle and s.number]:
                    del self._segments[segment.number]
                    self.gone.append(segment.number)
                    os.close(segment.fd)

    def close(self) -> None:
        with self._lock:
            for segment in self._segments.values():
                with contextlib.suppress(OSError):
                    os.close(segment.fd)
            self._segments.clear()
            self._lent.clear()


def lent(number: int) -> Block:
    """What a reader gives back of a thing that was lent."""
    return (_LENT, number, 0)


def elsewhere(size: int) -> Block:
    """In the place of data that is not in the arena: its reader sees ``size`` zeros."""
    return (_NO_SEGMENT, 0, size)


_Mapping = tuple["np.ndarray[Any, Any]", int]  # the bytes and their address


class _Lease:
    """The array below all views of one block: when it goes, the block is free."""

    __slots__ = ("__array_interface__", "_block", "_memory", "_window")

    def __init__(self, window: "Window", block: Block, memory: "_Mapping") -> None:
        self._window = window
        self._block = block
        self._memory = memory  # keeps the mapping alive
        self.__array_interface__ = {
            "data": (memory[1] + block[1], False),
            "shape": (block[2],),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        self._window.released.append(self._block)


class Window:
    """The reading side: arrays on blocks of the other process's arena."""

    def __init__(self) -> None:
        self._segments: dict[int, _Mapping] = {}
        # Blocks that nobody looks at any more; finalisers run in any thread, a deque takes that.
        self.released: deque[Block] = deque()

    def add(self, number: int, fd: int, size: int) -> None:
        """Map a segment; ``fd`` is closed."""
        try:
            mapped = np.frombuffer(mmap.mmap(fd, size), np.uint8)
            self._segments[number] = (mapped, mapped.ctypes.data)
        finally:
            os.close(fd)

    def drop(self, numbers: "list[int]") -> None:
        for number in numbers:
            self._segments.pop(number, None)

    def look(self, block: "Union[Block, bytes]") -> "np.ndarray[Any, Any]":
        """The block as bytes; it stays taken while any view of the result lives.

        The other process may also have sent the bytes themselves.
        """
        if isinstance(block, bytes):
            return np.frombuffer(bytearray(block), np.uint8)  # why a copy: models may write to it
        if block[0] < 0:
            return np.zeros(block[2], np.uint8)
        return np.asarray(_Lease(self, block, self._segments[block[0]]))

    def close(self) -> None:
        """Forget the segments; arrays that still look at one keep it."""
        self._segments.clear()

    def take_released(self) -> "Optional[list[Block]]":
        """What became free since the last time, None for nothing."""
        released = self.released
        if not released:
            return None
        found = []
        while released:
            found.append(released.popleft())
        return found
