"""The filter of system calls, as the kernel's machine reads it: for both architectures, on any."""

import os
import socket

import pytest

from node_agent.launcher.calls import ARCHITECTURES, NEWEST
from node_agent.launcher.seccomp import ALLOW, ENOSYS, EOPNOTSUPP, EPERM, KILL, program


def test_another_architecture_ends_the_process() -> None:
    """Calls of the 32-bit kind have other numbers, which the filter would read wrongly."""
    for machine in ARCHITECTURES.values():
        code = program(machine, sockets=False, truncate=False)
        assert code[1][3] == machine.audit
        assert code[2][3] == KILL
        assert answer(code, audit=machine.audit ^ 1, number=0) == KILL


def answer(
    code: list[tuple[int, int, int, int]],
    *,
    audit: int,
    number: int,
    arguments: tuple[int, ...] = (),
) -> int:
    """What the kernel's machine makes of one call."""
    words = {0: number, 4: audit}
    words |= {16 + 8 * place: value & 0xFFFFFFFF for place, value in enumerate(arguments)}
    at, held = 0, 0
    while True:
        operation, yes, no, operand = code[at]
        at += 1
        if operation == 0x20:
            held = words.get(operand, 0)
        elif operation == 0x54:
            held &= operand
        elif operation == 0x06:
            return operand
        else:
            true = {0x15: held == operand, 0x25: held > operand, 0x45: bool(held & operand)}
            at += yes if true[operation] else no


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_calls_are_answered_as_the_table_says(name: str) -> None:
    machine = ARCHITECTURES[name]
    closed = program(machine, sockets=False, truncate=False)
    open_ = program(machine, sockets=True, truncate=True)

    def asks(code: list[tuple[int, int, int, int]], number: int, *arguments: int) -> int:
        return answer(code, audit=machine.audit, number=number, arguments=arguments)

    for number in machine.refused:
        assert asks(closed, number) == asks(open_, number) == EPERM
    assert asks(closed, 0) == asks(closed, NEWEST) == ALLOW
    assert asks(closed, NEWEST + 1) == asks(closed, 0x40000000) == ENOSYS  # x32 among them
    assert asks(open_, machine.clone3) == ENOSYS
    assert asks(open_, machine.clone, 0x10000000) == asks(open_, machine.clone, 0x20000) == EPERM
    assert asks(open_, machine.clone, 0x3D0F00) == ALLOW  # a thread
    assert asks(closed, machine.socket, socket.AF_INET) == EPERM
    allowed = {family for family in range(50) if asks(open_, machine.socket, family) == ALLOW}
    assert allowed == {socket.AF_INET, socket.AF_INET6}
    kinds = {
        kind for kind in range(1, 8) if asks(open_, machine.socketpair, 1, kind | 0x80800) == ALLOW
    }
    assert kinds == {socket.SOCK_STREAM, socket.SOCK_SEQPACKET}
    assert asks(open_, machine.socketpair, socket.AF_TIPC, socket.SOCK_STREAM) == EPERM
    assert asks(closed, machine.sendto, 3, 0, 0, 0x20004000) == EPERM
    assert asks(closed, machine.sendto, 3, 0, 0, 0x4000) == ALLOW
    for how, expected in ((0, EPERM), (1, ALLOW), (2, EPERM)):
        assert asks(closed, machine.shutdown, 3, how) == expected
        assert asks(open_, machine.shutdown, 3, how) == ALLOW
    assert asks(closed, machine.bind, 3) == EPERM
    assert asks(open_, machine.bind, 3) == ALLOW
    for mode, expected in ((0, ALLOW), (1, EOPNOTSUPP), (3, ALLOW), (0x11, EOPNOTSUPP)):
        assert asks(closed, machine.fallocate, 3, mode) == expected
    assert asks(closed, machine.ioctl, 3, 0x4030582A) == EOPNOTSUPP
    assert asks(closed, machine.ioctl, 3, 0x5401) == ALLOW
    assert asks(open_, machine.clone, 0x8000) == EPERM  # a child of the parent's
    assert asks(open_, machine.prlimit64, 0) == ALLOW
    assert asks(open_, machine.prlimit64, 1234) == EPERM
    assert asks(closed, machine.openat, 0, 0, os.O_TRUNC) == EPERM
    assert asks(closed, machine.openat, 0, 0, os.O_TRUNC | os.O_WRONLY) == ALLOW
    assert len(closed) < 4096  # the kernel's limit


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
@pytest.mark.parametrize("sockets", [True, False])
def test_cuda_s_driver_may_listen_on_a_socket_of_its_own_kind(name: str, *, sockets: bool) -> None:
    machine = ARCHITECTURES[name]
    code = program(machine, sockets=sockets, truncate=False, cuda=True)

    def allows(number: int, *arguments: int) -> bool:
        return answer(code, audit=machine.audit, number=number, arguments=arguments) == ALLOW

    kinds = {kind for kind in range(1, 8) if allows(machine.socket, socket.AF_UNIX, kind | 0x80800)}
    assert kinds == {socket.SOCK_SEQPACKET}
    families = {
        family for family in range(50) if allows(machine.socket, family, socket.SOCK_STREAM)
    }
    assert families == ({socket.AF_INET, socket.AF_INET6} if sockets else set())
    assert allows(machine.bind, 3)
    assert allows(machine.connect, 3) is sockets
    assert not any(allows(number) for number in machine.refused)
