"""Files of clients that are mapped here and become shorter: their readers live on.

Who touches a page of a mapping behind the end of its file gets SIGBUS, which ends a process. Files
in /dev/shm cannot be sealed against that (only memfds can), and reading them by system calls
instead costs a copy of every tensor. So the signal is taken: the missing pages are replaced by
empty ones of our own, the mapping is marked as lost, and whoever touched them goes on.
"""

import ctypes
import mmap
import os
import signal
from typing import Any

_PAGE = mmap.PAGESIZE
_SA_SIGINFO = 4
_MAP_FIXED = 0x10
_ADDRESS_AT = 16  # of si_addr in siginfo_t, on 64 bits
_FAILED = ctypes.c_void_p(-1).value
_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    """``struct sigaction`` of glibc and musl on 64 bits."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint64 * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Mapping:
    """A part of a client's file. ``lost``: the file is shorter now, or had no room for a page."""

    __slots__ = ("lost", "map", "start", "stop")

    def __init__(self, file: int, byte_size: int, offset: int) -> None:
        """Raises OSError, ValueError, OverflowError."""
        _Guard.install()
        self.map = mmap.mmap(file, byte_size, offset=offset)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.stop = self.start + -(-byte_size // _PAGE) * _PAGE
        self.lost = False
        _Guard.mappings.append(self)

    def close(self) -> None:
        """Raises BufferError while there are views of it."""
        self.map.close()
        _Guard.mappings.remove(self)


class _Guard:
    """The handler of the process; the one that was there before gets all other faults."""

    mappings: "list[Mapping]" = []  # of the process, as signals are
    _libc: Any = None
    _before = _Action()
    _handler: Any = None  # kept: the kernel has its address

    @classmethod
    def install(cls) -> None:
        if cls._handler is not None:
            return
        libc = cls._libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (
            *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
            ctypes.c_long,
        )
        cls._handler = _HANDLER(cls._faulted)
        action = _Action(ctypes.cast(cls._handler, ctypes.c_void_p), flags=_SA_SIGINFO)
        if libc.sigaction(signal.SIGBUS, ctypes.byref(action), ctypes.byref(cls._before)):
            raise OSError(ctypes.get_errno(), "sigaction")

    @classmethod
    def _faulted(cls, _number: int, info: int, _context: int) -> None:
        """In whatever thread touched the page, which goes on where it was."""
        address = ctypes.c_void_p.from_address(info + _ADDRESS_AT).value or 0
        for mapping in cls.mappings:
            if mapping.start <= address < mapping.stop and cls._replaced(mapping, address):
                return
        cls._libc.sigaction(signal.SIGBUS, ctypes.byref(cls._before), None)
        os.kill(os.getpid(), signal.SIGBUS)

    @classmethod
    def _replaced(cls, mapping: Mapping, address: int) -> bool:
        mapping.lost = True
        first = address - address % _PAGE
        access = mmap.PROT_READ | mmap.PROT_WRITE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
        found = cls._libc.mmap(first, mapping.stop - first, access, flags, -1, 0)
        return bool(found != _FAILED)
