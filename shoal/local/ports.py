"""Ports that are chosen now for programs that bind them later, and kept from everybody else."""

import contextlib
import socket
import sys

HOST = "127.0.0.1"


def reserve(port: int, held: contextlib.ExitStack) -> int:
    """``port``, or a free one for 0, kept until ``held`` is closed. OSError when it is taken.

    What keeps it is a socket that is bound and never listens. Linux then gives the port to nobody
    who asks for any free one, neither to servers nor to clients, while a program that asks for
    just this one (with SO_REUSEADDR, as servers do) gets it, after a restart too. Elsewhere such
    a socket would be in the program's way: there the port is only looked up.
    """
    with contextlib.ExitStack() as mine:
        holder = mine.enter_context(_bound(port))
        found = int(holder.getsockname()[1])
        if sys.platform != "linux":
            holder.listen(1)
            return found
        if port:
            # why: a socket that is bound and does not listen yet lets us bind, but not listen
            with _bound(port) as probe:
                probe.listen(1)
        held.enter_context(mine.pop_all())
    return found


def _bound(port: int) -> socket.socket:
    found = socket.socket()
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
    except OSError:
        found.close()
        raise
    return found
