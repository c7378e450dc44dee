"""The filter of system calls: made here, checked by the kernel at each call.

Most calls are allowed by their number alone. For those the kernel remembers the answer when the
filter is installed (since 5.11), so that they cost as much as without one.
"""

import ctypes
import errno
import os
import struct
from typing import Final

from node_agent.launcher import kernel
from node_agent.launcher.calls import ARCHITECTURES, NEWEST, Architecture

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
EPERM: Final = 0x00050000 | errno.EPERM
EOPNOTSUPP: Final = 0x00050000 | errno.EOPNOTSUPP
ENOSYS: Final = 0x00050000 | errno.ENOSYS

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _GREATER, _ANY_BIT = 0x15, 0x25, 0x45
_NUMBER, _ARCH, _FIRST = 0, 4, 16  # offsets in struct seccomp_data
_FILTER_MODE: Final = 2

_NEW_NAMESPACES: Final = 0x7E020000  # CLONE_NEWNS and its kin
_SIBLING: Final = 0x8000  # CLONE_PARENT: a child of the agent, which waits for none but its own
_FASTOPEN: Final = 0x20000000  # of a send: connects, too
_TYPE_MASK: Final = 0xF
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_STREAM, _SEQPACKET = 1, 5
_SHUT_WR: Final = 1
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_RESERVATIONS: Final = (0x40305828, 0x4030582A, 0x40305839)  # FS_IOC_RESVSP and its kin

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def supported() -> bool:
    """Whether we know this machine's numbers."""
    return os.uname().machine in ARCHITECTURES


def install(*, sockets: bool, truncate: bool, cuda: bool = False) -> None:
    """Refuse what a model has no use for, from now on and for all children. Raises OSError.

    With ``sockets`` it may open those of IPv4 and IPv6, else none. Without ``truncate`` files are
    shortened only through what is open for writing, for kernels whose Landlock does not look.
    With ``cuda`` it may listen on a socket within this machine, and without ``sockets`` call none.
    """
    machine = ARCHITECTURES[os.uname().machine]
    code = program(machine, sockets=sockets, truncate=truncate, cuda=cuda)
    text = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(text, len(text))
    head = struct.pack("@HP", len(code), ctypes.addressof(buffer))
    where = ctypes.create_string_buffer(head, len(head))
    kernel.no_new_privileges()
    kernel.prctl(
        kernel.PR_SET_SECCOMP,
        _FILTER_MODE,
        ctypes.addressof(where),
        what="filter of system calls",
    )


def program(
    machine: Architecture, *, sockets: bool, truncate: bool, cuda: bool = False
) -> list[Instruction]:
    """Instructions for the kernel: blocks that end with an answer or fall through to the next."""
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    # why before the rest: drivers of GPUs are called so, often
    code += _of(machine.ioctl, _no_reservations())
    families = _only(0, (_AF_INET, _AF_INET6)) if sockets else [(_RETURN, 0, 0, EPERM)]
    code += _of(machine.socket, [*(_cuda_s_own() if cuda else ()), *families])
    if not sockets:
        # why before the rest: replicas send often. A bound socket that is shut down can connect
        # by a send with this flag.
        for call, position in ((machine.sendto, 3), (machine.sendmsg, 2), (machine.sendmmsg, 3)):
            code += _of(call, _without(position, _FASTOPEN))
        for number in (machine.connect, *(() if cuda else (machine.bind,))):
            code += _answer(number, EPERM)
        # why: one that listens, shut down for reading, could listen anew on another port
        code += _of(machine.shutdown, _only(1, (_SHUT_WR, _SHUT_WR)))
    code += _of(machine.socketpair, _pairs())
    code += _of(machine.clone, _without(0, _NEW_NAMESPACES | _SIBLING))
    # why not there: its flags lie in memory, which no filter reads; libraries then take clone
    code += _answer(machine.clone3, ENOSYS)
    code += _of(machine.prlimit64, _only(0, (0, 0)))  # its own limits, nobody else's
    code += _of(machine.fallocate, _seen_room())
    if not truncate:
        code += _answer(machine.truncate, EPERM) + _answer(machine.openat2, ENOSYS)
        code += _of(machine.openat, _no_blind_truncation(2))
        if machine.open is not None:
            code += _of(machine.open, _no_blind_truncation(1))
    for number in machine.refused:
        code += _answer(number, EPERM)
    return [*code, (_GREATER, 0, 1, NEWEST), (_RETURN, 0, 0, ENOSYS), (_RETURN, 0, 0, ALLOW)]


def _answer(number: int, answer: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]


def _of(number: int, block: list[Instruction]) -> list[Instruction]:
    """``block``, which ends with an answer, for this call only."""
    return [(_EQUAL, 0, len(block), number), *block]


def _argument(position: int) -> Instruction:
    """Its lower half: flags and families are no longer."""
    return (_LOAD, 0, 0, _FIRST + 8 * position)


def _without(position: int, bits: int) -> list[Instruction]:
    return [
        _argument(position),
        (_ANY_BIT, 0, 1, bits),
        (_RETURN, 0, 0, EPERM),
        (_RETURN, 0, 0, ALLOW),
    ]


def _only(position: int, values: tuple[int, int]) -> list[Instruction]:
    first, second = values
    return [
        _argument(position),
        (_EQUAL, 1, 0, first),
        (_EQUAL, 0, 1, second),
        (_RETURN, 0, 0, ALLOW),
        (_RETURN, 0, 0, EPERM),
    ]


def _pairs() -> list[Instruction]:
    """Pairs that stay pairs: one of datagrams can be pointed at a socket of somebody else."""
    return [
        _argument(0),
        (_EQUAL, 0, 5, _AF_UNIX),
        _argument(1),
        (_AND, 0, 0, _TYPE_MASK),
        (_EQUAL, 1, 0, _STREAM),
        (_EQUAL, 0, 1, _SEQPACKET),
        (_RETURN, 0, 0, ALLOW),
        (_RETURN, 0, 0, EPERM),
    ]


def _cuda_s_own() -> list[Instruction]:
    """The kind that CUDA's driver listens on, and does not start without; else what comes next."""
    return [
        _argument(0),
        (_EQUAL, 0, 4, _AF_UNIX),
        _argument(1),
        (_AND, 0, 0, _TYPE_MASK),
        (_EQUAL, 0, 1, _SEQPACKET),
        (_RETURN, 0, 0, ALLOW),
    ]


def _no_blind_truncation(position: int) -> list[Instruction]:
    """Opening for reading while cutting the file off: older Landlocks see a reader in it."""
    return [
        _argument(position),
        (_AND, 0, 0, os.O_TRUNC | os.O_ACCMODE),
        (_EQUAL, 0, 1, os.O_TRUNC | os.O_RDONLY),
        (_RETURN, 0, 0, EPERM),
        (_RETURN, 0, 0, ALLOW),
    ]


def _seen_room() -> list[Instruction]:
    """No room on the disk behind the end of a file: no limit of lengths, and nobody who looks at
    them, sees it. File systems that cannot do so answer the same; making holes is no such thing."""
    return [
        _argument(1),
        (_AND, 0, 0, _KEEP_SIZE | _PUNCH_HOLE),
        (_EQUAL, 0, 1, _KEEP_SIZE),
        (_RETURN, 0, 0, EOPNOTSUPP),
        (_RETURN, 0, 0, ALLOW),
    ]


def _no_reservations() -> list[Instruction]:
    """The same by the calls that XFS had before."""
    code = [_argument(1)]
    for request in _RESERVATIONS:
        code += _answer(request, EOPNOTSUPP)
    return [*code, (_RETURN, 0, 0, ALLOW)]
