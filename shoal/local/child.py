"""One supervised program: how to start it, see it ready, end it and what it forked."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shoal.local import die_with_parent

POLL_S = 0.05


class StartFailed(RuntimeError):
    """A program ended, or stayed silent, before it was ready."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} {reason}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Program:
    """`ready` is asked every 50 ms until it says yes; `after` names what must be ready before."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    ready: Callable[[int], Awaitable[bool]]  # gets the process id
    after: tuple[str, ...] = ()
    note: str = ""  # shown beside the name once ready
    ready_timeout_s: float = 90.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s: float = 10.0
    # Called in a thread before any program is stopped, and returns once this one may be.
    drain: Callable[[], None] | None = None


class Child:
    """A running instance of a Program.

    Must be started from the main thread (see `die_with_parent`).
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._process: asyncio.subprocess.Process | None = None
        self._started_at = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def uptime_s(self) -> float:
        return time.monotonic() - self._started_at

    async def start(self) -> None:
        """Start and wait until ready. Raises StartFailed."""
        program = self.program
        self._started_at = time.monotonic()
        # why: in append mode a log that the supervisor empties starts again at 0.
        with program.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-I",
                    "-S",
                    die_with_parent.__file__,
                    str(os.getpid()),
                    *program.argv,
                ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict(program.environment),
                cwd=program.folder,
                start_new_session=True,  # the terminal's Ctrl-C reaches only the supervisor
            )
        deadline = self._started_at + program.ready_timeout_s
        while not await program.ready(self._process.pid):
            if self._process.returncode is not None:
                raise StartFailed(
                    program.name, f"{describe_exit(self._process.returncode)} at start"
                )
            if time.monotonic() > deadline:
                raise StartFailed(
                    program.name, f"was not ready after {program.ready_timeout_s:.0f} s"
                )
            await asyncio.sleep(POLL_S)

    async def wait(self) -> int:
        """The exit status, negative for a signal. Ends what the process left in its group."""
        if self._process is None:
            raise RuntimeError(f"{self.program.name} was never started")
        status = await self._process.wait()
        self._kill_group()
        return status

    async def stop(self) -> None:
        """Ask, wait, then kill."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            # why not process.send_signal: it polls, and may take the exit status from the loop.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, self.program.stop_signal)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), self.program.stop_timeout_s)
        self._kill_group()
        await process.wait()

    def kill(self) -> None:
        if self.running:
            self._kill_group()

    def _kill_group(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def describe_exit(status: int) -> str:
    """ "exited with status 1" or "was killed by SIGKILL"."""
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"exited with status {status}"
