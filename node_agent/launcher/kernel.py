"""System calls that Python does not offer, through the C library."""

import ctypes
import os
from typing import Final

LIBC: Final = ctypes.CDLL(None, use_errno=True)

PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38

# The same on every architecture: they are younger than the common table.
LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_ADD_RULE: Final = 445
LANDLOCK_RESTRICT_SELF: Final = 446
MOUNT_SETATTR: Final = 442


def checked(result: int, what: str) -> int:
    """``result``, unless it is -1. Raises OSError that names ``what``."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object, what: str) -> int:
    """Raises OSError that names ``what``."""
    return checked(int(LIBC.syscall(ctypes.c_long(number), *arguments)), what)


def prctl(option: int, *values: int, what: str) -> None:
    """Raises OSError that names ``what``."""
    longs = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    checked(int(LIBC.prctl(option, *longs)), what)


def no_new_privileges() -> None:
    """From here on no program gives more rights than its caller has. Raises OSError."""
    prctl(PR_SET_NO_NEW_PRIVS, 1, what="no new privileges")
