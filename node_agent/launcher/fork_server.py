"""`python -P -s -m node_agent.launcher.fork_server PROGRAM DESCRIPTOR`: imports the program, and
forks a process that runs it whenever the agent asks for one, over the socket that it was handed.

What is forked reads a plan, confines itself as that says, as the launcher does, and only then
calls the program's `main`. Until then it has touched nothing but the folders of our own code.

Here are no threads: a fork copies the one that calls, and what another holds is held for ever. No
library of a backend is imported, for they start some, and open devices.
"""

import contextlib
import fcntl
import gc
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from node_agent.launcher import FAILED, kernel, plan, privileges, title
from node_agent.launcher.confinement import confine

MOST_DESCRIPTORS: Final = 16
ASK, GO, READY = b"fork", b"go", b"ready"
_PID_BYTES: Final = 20

Stamp = tuple[int, int, int]  # a file's inode, length and time of change


class Refused(RuntimeError):
    """Why nothing may be forked here any more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the agent handed over for one process: where it reads what to run, its log, a pipe that
    says when, and what it is to have under `numbers`."""

    given: int
    log: int
    go: int
    others: tuple[int, ...]


def main() -> int:
    """0 when the agent has closed the socket, else as the program ends in what was forked."""
    name, descriptor, _ = sys.argv[1:]
    server = socket.socket(fileno=int(descriptor))
    title.show([sys.executable, "-m", "node_agent.launcher.fork_server", name])
    privileges.end_first_without_memory()
    gc.disable()  # why: it would write to pages that are shared
    program = importlib.import_module(f"{name}.__main__")
    program.preload()
    stamps = stamped(sys.modules)
    _end_threads()
    gc.freeze()
    try:
        asked = _serve(server, stamps)
    except Refused as error:
        server.send(str(error).encode())
        return 0
    return 0 if asked is None else _become(asked, name, program.main)


def _serve(server: socket.socket, stamps: Mapping[str, Stamp]) -> Asked | None:
    """Fork until the agent is gone; what was asked for, in what was forked. Raises Refused."""
    check_alone(_threads())
    server.send(READY)
    while True:
        said, descriptors, _, _ = socket.recv_fds(server, len(ASK), MOST_DESCRIPTORS)
        if not said:
            return None
        try:
            check_fresh(stamps)
            check_alone(_threads())
            pid = _forked()
        except OSError as error:
            raise Refused(f"it could not fork: {error}") from error
        if not pid:
            server.detach()  # its number is somebody else's from here on
            given, log, go, *others = descriptors
            return Asked(given, log, go, tuple(others))
        server.send(str(pid).encode())
        for number in descriptors:
            os.close(number)


def _forked() -> int:
    """The process id of a new process that is the agent's own child; 0 in it. Raises OSError.

    Who forks it ends at once: the kernel then gives it to the nearest process above that takes such
    children, which for this moment is the agent.
    """
    read, write = os.pipe()
    between = os.fork()
    if not between:
        try:
            pid = os.fork()
        except OSError:
            os._exit(1)
        if pid:
            os.write(write, str(pid).encode())
            os._exit(0)
        os.close(read)
        os.close(write)
        return 0
    os.close(write)
    os.waitpid(between, 0)
    said = os.read(read, _PID_BYTES)
    os.close(read)
    if not said:
        raise ChildProcessError("the second of two processes could not be made")
    return int(said)


def _become(asked: Asked, name: str, program: Callable[[list[str]], int]) -> int:
    """Be what `exec` leaves of a process, enter the sandbox, and only then run the program."""
    os.setsid()
    if os.read(asked.go, len(GO)) != GO:
        os._exit(FAILED)  # the agent has given up on us, or has ended
    with os.fdopen(asked.given, "rb", closefd=False) as text:
        given = json.load(text)
    numbers, command = given["numbers"], given["command"]
    take({1: asked.log, 2: asked.log, **dict(zip(numbers, asked.others, strict=True))})
    title.show(command)
    wanted = plan.load(given["plan"].encode())
    try:
        confine(wanted)
        # as after every `exec`: to its own user, /proc/self is its own
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1, what="dumpable")
    except OSError as error:
        sys.stderr.write(f"the sandbox could not be made: {error}\n")
        return FAILED
    os.environ.clear()
    os.environ.update(wanted.environment)
    arguments = command[command.index(name) + 1 :]
    sys.argv = [name, *arguments]
    return program(arguments)


def take(wanted: Mapping[int, int]) -> None:
    """Have these descriptors of ours under the numbers that `wanted` maps to them, nothing as
    standard input, and no others."""
    wanted = {0: os.open(os.devnull, os.O_RDONLY), **wanted}
    above = max(wanted) + 1
    moved = {number: fcntl.fcntl(now, fcntl.F_DUPFD, above) for number, now in wanted.items()}
    for number, now in moved.items():
        os.dup2(now, number)
    for text in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names alone
        if int(text) not in wanted:
            with contextlib.suppress(OSError):  # that of the list itself is closed
                os.close(int(text))


def stamped(modules: Mapping[str, ModuleType]) -> dict[str, Stamp]:
    """Of the files of what was imported, and of Python itself."""
    files = (getattr(module, "__file__", None) for module in list(modules.values()))
    return {file: _stamp(file) for file in (*files, sys.executable) if file}


def check_fresh(stamps: Mapping[str, Stamp]) -> None:
    """Raises Refused where code has changed on disk: what was imported is of before an upgrade."""
    for file, stamp in stamps.items():
        if _stamp(file) != stamp:
            raise Refused(f"its code has changed on disk: {file}")


def _stamp(file: str) -> Stamp:
    try:
        about = os.stat(file)  # noqa: PTH116 - of hundreds for each start
    except OSError:
        return (0, 0, 0)
    return (about.st_ino, about.st_size, about.st_mtime_ns)


def check_alone(threads: int) -> None:
    """Raises Refused."""
    if threads > 1:
        raise Refused(
            f"{threads - 1} other threads run in it: some library has started them at its import"
        )


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - only how many


def _end_threads() -> None:
    """Those of libraries that end theirs at a fork and start them again when they need them
    (OpenBLAS, which comes with numpy)."""
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    sys.exit(main())
