"""Landlock: which files a process and its children may touch, and whom they may signal.

What the running kernel does not know yet is left out; ``abi`` says how much it knows.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from typing import Final

from node_agent.launcher import kernel

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
REMOVE_DIR: Final = 1 << 4
REMOVE_FILE: Final = 1 << 5
MAKE_CHAR: Final = 1 << 6
MAKE_DIR: Final = 1 << 7
MAKE_REG: Final = 1 << 8
MAKE_SOCK: Final = 1 << 9
MAKE_FIFO: Final = 1 << 10
MAKE_BLOCK: Final = 1 << 11
MAKE_SYM: Final = 1 << 12
REFER: Final = 1 << 13
TRUNCATE: Final = 1 << 14
IOCTL_DEV: Final = 1 << 15

READ: Final = EXECUTE | READ_FILE | READ_DIR
LIST: Final = READ_DIR
SHARE: Final = READ_FILE | READ_DIR | WRITE_FILE | MAKE_REG | REMOVE_FILE | TRUNCATE
OWN: Final = (
    READ | SHARE | REMOVE_DIR | MAKE_DIR | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER
)  # fmt: skip
DEVICE: Final = READ_FILE | READ_DIR | WRITE_FILE | IOCTL_DEV
OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

TRUNCATE_ABI: Final = 3
SCOPE_ABI: Final = 6
_KNOWN: Final = ((1, MAKE_SYM), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
_SCOPES: Final = 0b11  # abstract sockets, signals
_VERSION: Final = 1
_PATH_BENEATH: Final = 1


def abi() -> int:
    """The newest rules that this kernel understands; 0 where it has no Landlock."""
    try:
        return kernel.syscall(
            kernel.LANDLOCK_CREATE_RULESET,
            None,
            ctypes.c_size_t(0),
            ctypes.c_uint32(_VERSION),
            what="Landlock",
        )
    except OSError:
        return 0


def restrict(rules: Iterable[tuple[str, int]]) -> None:
    """Allow this process what ``rules`` (path, accesses below it) say, and no more.

    A path that is not there is left out. Raises OSError where the kernel refuses.
    """
    version = abi()
    handled = (max(bit for since, bit in _KNOWN if since <= version) << 1) - 1
    # an older kernel takes the structure's first field alone
    fields = [handled] if version < SCOPE_ABI else [handled, 0, _SCOPES]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = kernel.syscall(
        kernel.LANDLOCK_CREATE_RULESET,
        attributes,
        ctypes.c_size_t(len(attributes)),
        ctypes.c_uint32(0),
        what="Landlock ruleset",
    )
    for path, access in rules:
        _allow(ruleset, path, access & handled)
    kernel.no_new_privileges()
    kernel.syscall(kernel.LANDLOCK_RESTRICT_SELF, ruleset, ctypes.c_uint32(0), what="Landlock")
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # nothing to allow: it is not there, or this user may not go there anyway
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        access &= OF_FILES
    if access:
        rule = struct.pack("=Qi", access, place)
        kernel.syscall(
            kernel.LANDLOCK_ADD_RULE,
            ruleset,
            _PATH_BENEATH,
            rule,
            ctypes.c_uint32(0),
            what=f"Landlock rule for {path}",
        )
    os.close(place)
