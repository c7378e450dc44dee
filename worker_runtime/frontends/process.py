"""One front end as the core sees it: its process, its end of the socket, what is said on it."""

import asyncio
import logging
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from worker_runtime.core.engine import Engine
from worker_runtime.frontends.control import Control
from worker_runtime.frontends.counts import add
from worker_runtime.frontends.link import Link
from worker_runtime.frontends.messages import (
    BUNDLES,
    Close,
    Copied,
    CopyForm,
    Count,
    Counts,
    GrpcCall,
    Hello,
    HttpCall,
    Seen,
    Started,
    State,
    Welcome,
)
from worker_runtime.frontends.mirror import Mirror
from worker_runtime.frontends.requests import RemoteRequests

logger = logging.getLogger(__name__)
_MODULE = "worker_runtime.frontends"
_STUCK_S = 10.0  # that a front end may take nothing of what waits for it


class FrontEnd:
    """``started`` is done when it listens, or fails with OSError; ``gone`` is set at its end.

    As long as the models that front ends are to run are those that it is ``spared``, it runs none.
    """

    def __init__(
        self,
        engine: Engine,
        control: Control,
        mirror: Mirror,
        counted: Callable[["FrontEnd", Counts], None],
        spared: tuple[CopyForm, ...] = (),
    ) -> None:
        self._control = control
        self._mirror = mirror
        self._counted = counted
        self.spared = spared
        self.copies: tuple[CopyForm, ...] = ()
        self.loads = False  # models that it is to run itself
        self._requests = RemoteRequests(engine, mirror.models, self._wake)
        self._said: list[Any] = []
        self._woken = False
        self._loop = asyncio.get_running_loop()
        self._link = Link(self._taken, self._lost, self._stuck)
        self._timer: asyncio.TimerHandle | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.started: asyncio.Future[None] = self._loop.create_future()
        self.gone = asyncio.Event()
        self.seen = 0
        self.told: set[int] = set()
        self.counts: Counts | None = None  # those that it told last

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def start(self, welcome: Welcome, descriptors: tuple[int, ...]) -> None:
        """Start the process; ``descriptors`` are those of its listening sockets."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            isolated = ["-I"] if sys.flags.isolated else ["-P"] if sys.flags.safe_path else []
            number = theirs.fileno()
            self._process = await asyncio.to_thread(
                subprocess.Popen,
                [sys.executable, *isolated, "-m", _MODULE, str(number)],
                pass_fds=(number, *descriptors),
                stdin=subprocess.DEVNULL,
            )
        await self._loop.create_unix_connection(lambda: self._link, sock=ours)
        self.say(welcome)

    # --- to it -----------------------------------------------------------------------------------

    def tell(self, state: State) -> None:
        if state.copies:
            self.loads = True
        self.say(state)

    def count(self, question: int) -> None:
        self.say(Count(question))

    def close(self, grace_s: float) -> None:
        """Ask it to end."""
        self.say(Close(grace_s))

    def kill(self) -> None:
        """End it now."""
        if self._process is not None:
            self._process.kill()
        self._link.abort()

    def give_up(self, why: str) -> None:
        logger.error("front end %d is ended: %s", self.pid, why)
        self.kill()

    def say(self, message: Any) -> None:
        self._said.append(message)
        self._wake()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        self._woken = False
        said, self._said = self._said, []
        self._link.send(*self._requests.block(said))

    # --- from it ---------------------------------------------------------------------------------

    def _taken(self, message: memoryview, frame: bytes | memoryview, start: int) -> None:
        bundle = BUNDLES.decode(message)
        # why: what is answered at once leaves at once, not in the next turn of the loop.
        waits, self._woken = self._woken, True
        self._requests.take(bundle, frame, start)
        self._woken = waits
        if not waits and self._requests.pending:
            self._send()
        for said in bundle.said:
            if isinstance(said, HttpCall):
                self._control.http(said, self.say)
            elif isinstance(said, GrpcCall):
                self._control.grpc(said, self.say)
            elif isinstance(said, Seen):
                self._mirror.seen(self, said.epoch)
            elif isinstance(said, Counts):
                self.counts = said
                self._counted(self, said)
            elif isinstance(said, Copied):
                self._copied(said)
            elif isinstance(said, Hello):
                self._mirror.join(self)
            else:
                self._began(said)

    def _copied(self, said: Copied) -> None:
        """The models that it runs itself; what they have counted is the core's from now on."""
        self.loads = said.loading
        models = self._mirror.models
        for number, model in models.items():
            if number in said.waiting:
                model.statistics.elsewhere[self.pid] = said.waiting[number]
            else:
                model.statistics.elsewhere.pop(self.pid, None)
        for counts in said.counts:
            if counts.number in models:  # or it was unloaded, and its statistics with it
                add(models[counts.number].statistics, counts)

    def _began(self, said: Started) -> None:
        if self.started.done():
            return
        if said.failure:
            self._failed(said.failure)
        else:
            self.started.set_result(None)

    def _stuck(self, stuck: bool) -> None:  # asyncio tells it so
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if stuck:
            self._timer = self._loop.call_later(_STUCK_S, self.give_up, "it takes no answers")

    def _lost(self) -> None:
        self._stuck(False)
        self._copied(Copied({}, [], loading=self.loads))
        self._mirror.leave(self)
        self._requests.close()
        if not self.started.done():
            self._failed("a front end ended before it listened")
        self.gone.set()

    def _failed(self, why: str) -> None:
        self.started.set_exception(OSError(why))
        self.started.exception()  # why: nobody may ask for it

    async def reaped(self) -> int:
        """Its exit code; killed if it goes on without us."""
        if self._process is None:
            return -1
        try:
            return await asyncio.to_thread(self._process.wait, 2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return await asyncio.to_thread(self._process.wait)
