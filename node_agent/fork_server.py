"""The node's fork server: a process that has imported the runtime, and forks one for each start.

It saves most of what a start costs. Whatever is wrong with it, replicas are started without it.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from node_agent import launch, process
from node_agent.backoff import Backoff
from node_agent.gpus import VISIBLE
from node_agent.launcher import kernel, title
from node_agent.launcher.fork_server import ASK, GO, READY
from node_agent.logs import last_lines
from node_agent.process import ProcessIdentity
from wire.messages import DesiredReplica

logger = logging.getLogger(__name__)

PROGRAM: Final = launch.RUNTIME[-1]
# why -s: of the folders of packages only those that replicas have, too, whose home is another
COMMAND: Final = (sys.executable, "-P", "-s", "-m", "node_agent.launcher.fork_server", PROGRAM)
SETTLED_S: Final = 2.0  # that a start waits for one that is just starting
ANSWER_S: Final = 2.0  # one that does not fork meanwhile is given up
LONG_RUN_S: Final = 60.0
SAID_BYTES: Final = 4096
LOG_LINES: Final = 5


class ForkServer:
    """Use from one event loop. ``inherited``: what replicas see of the environment."""

    def __init__(
        self, inherited: Mapping[str, str], log: Path, command: Sequence[str] = COMMAND
    ) -> None:
        self._environment = launch.environment(inherited)
        self._log = log
        self._command = command
        self._settled = asyncio.Event()  # it can be asked, or there is none for now
        self._asked: socket.socket | None = None
        self._identity: ProcessIdentity | None = None
        self._why = ""  # it was given up
        self._told = ""
        self._delays = Backoff(first_s=1.0, limit_s=300.0)

    async def settled(self) -> None:
        """Wait a moment for one that is just starting: a start without it takes longer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLED_S):
                await self._settled.wait()

    async def run_once(self) -> None:
        """Have one until it ends, say why, and pause, longer each time."""
        began, self._why = time.monotonic(), ""
        ended = await self._run()
        if time.monotonic() - began > LONG_RUN_S:
            self._delays.reset()
        why = self._why or f"it {ended}; {last_lines(self._log, LOG_LINES)}"
        if why != self._told:
            logger.warning("Replicas start without the fork server, and slower: %s", why)
            self._told = why
        await asyncio.sleep(self._delays.next())

    async def _run(self) -> str:
        """Until its end, in words."""
        self._settled.clear()
        self._log.unlink(missing_ok=True)
        ours, identity = begun(self._command, self._environment, self._log)
        with ours:
            try:
                ours.setblocking(False)
                said = await asyncio.get_running_loop().sock_recv(ours, SAID_BYTES)
                if said == READY:
                    logger.info("The fork server is ready, process %d", identity.pid)
                    ours.settimeout(ANSWER_S)
                    self._asked, self._identity = ours, identity
                else:
                    self._why = said.decode(errors="replace")
                self._settled.set()
                return process.describe_exit(await process.exited(identity))
            finally:
                self._asked = None
                self._settled.set()
                await process.end(identity, grace_s=1.0)

    def fork(
        self, command: Sequence[str], plan: bytes, *, log: Path, descriptors: tuple[int, ...]
    ) -> ProcessIdentity | None:
        """The runtime of `command`, confined by `plan`; None where it must be started without the
        fork server. Raises OSError for a log that cannot be written."""
        if self._asked is None:
            return None
        with log.open("ab") as output:
            try:
                return forked(self._asked, command, plan, output.fileno(), descriptors)
            except (OSError, ValueError) as error:
                self._give_up(str(error))
                return None

    def _give_up(self, why: str) -> None:
        """What it may have forked ends by itself: nobody tells it to go on."""
        self._asked, self._why = None, why
        if self._identity is not None and process.alive(self._identity):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._identity.pid, signal.SIGKILL)


def suits(replica: DesiredReplica) -> bool:
    """Whether it may be forked from what was imported before anything was known of it.

    Libraries read variables when they are imported, and nobody knows all of them. Those that choose
    GPUs are read by CUDA's driver, which is opened afterwards.
    """
    return replica.environment.keys() <= {VISIBLE}


def begun(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> tuple[socket.socket, ProcessIdentity]:
    """A fork server, and the socket at which it is asked once it has said READY."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        identity = process.spawn(
            [*command, str(theirs.fileno()), title.ROOM],
            folder=Path("/"),
            log=log,
            environment=environment,
            descriptors=(theirs.fileno(),),
        )
    return ours, identity


def forked(
    asked: socket.socket,
    command: Sequence[str],
    plan: bytes,
    output: int,
    descriptors: tuple[int, ...],
) -> ProcessIdentity:
    """A process that is our child, and has `descriptors` of ours under the same numbers.

    Raises OSError, ValueError with what the fork server says instead.
    """
    told = {"command": list(command), "plan": plan.decode(), "numbers": descriptors}
    with os.fdopen(os.memfd_create("given"), "w+b") as text, _pipe() as (read, write):
        text.write(json.dumps(told).encode())
        text.seek(0)
        with _taking_children():
            socket.send_fds(asked, [ASK], (text.fileno(), output, read, *descriptors))
            said = asked.recv(SAID_BYTES)
        if not said.isdigit():
            raise ValueError(said.decode(errors="replace") or "it has ended")
        identity = process.identify(int(said))
        os.write(write, GO)
    return identity


@contextlib.contextmanager
def _taking_children() -> Iterator[None]:
    """Processes below us whose parent ends become our children.

    Only for the moment of a fork: else we would have to wait for all that replicas leave behind.
    """
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1, what="taking children")
    try:
        yield
    finally:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 0, what="taking children")


@contextlib.contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    try:
        yield read, write
    finally:
        os.close(read)
        os.close(write)
