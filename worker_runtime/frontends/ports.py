"""The sockets of front ends: the core keeps them, so that none is lost with a process.

Each front end has one of its own at the same address (SO_REUSEPORT): the kernel shares connections
out. Those that come while a front end is started again wait in its socket.
"""

import contextlib
import socket

from worker_runtime.config.settings import Listener
from worker_runtime.types.listening import inherited

_BACKLOG = 1024


def reserved(listener: Listener, number: int) -> list[socket.socket]:
    """``number`` sockets that listen at one address and port. Raises OSError.

    A socket that the parent has bound is shared by all. Of a name with several addresses the first
    one is taken.
    """
    handed = inherited(listener.descriptor)
    if handed is not None:
        handed.listen(_BACKLOG)
        return [handed, *[handed.dup() for _ in range(number - 1)]]
    family, kind, protocol, _, where = socket.getaddrinfo(
        listener.address or None,
        listener.port,
        type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE,
    )[0]
    found: list[socket.socket] = []
    with contextlib.ExitStack() as opened:
        if listener.port and not listener.reuse_port:
            _check_free(family, where)
        for _ in range(number):
            one = opened.enter_context(socket.socket(family, kind, protocol))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(where)
            where = one.getsockname()  # which has the port, where any was asked for
            found.append(one)
        for one in found:  # why only now: a port is ours with all of its sockets or not at all
            one.listen(_BACKLOG)
            one.setblocking(False)
        opened.pop_all()
    return found


def _check_free(family: int, where: object) -> None:
    """Raises OSError: other servers of this user could share a port with us, and nobody notice."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(where)  # type: ignore[arg-type] # as getaddrinfo gives it
