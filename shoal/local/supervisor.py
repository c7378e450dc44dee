"""Starts programs in the order of their needs, restarts what crashes, stops all in reverse."""

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from shoal.local.child import Child, Program, StartFailed, describe_exit

LONG_UPTIME_S = 60.0  # a program that ran this long starts again with the shortest delay
MAXIMUM_DELAY_S = 15.0
LOG_LIMIT_BYTES = 64 * 2**20
LOG_CHECK_S = 30.0


class Reporter(Protocol):
    """Where the supervisor says what happens."""

    def ready(self, name: str, note: str, seconds: float) -> None: ...
    def crashed(self, name: str, reason: str, delay_s: float) -> None: ...
    def restarted(self, name: str, seconds: float) -> None: ...
    def stopped(self, name: str) -> None: ...


class Supervisor:
    """Holds the children. Use from one event loop on the main thread."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._children: list[Child] = []  # in the order in which they became ready
        self._keepers: list[asyncio.Task[None]] = []
        self._stopping = False

    def child(self, name: str) -> Child:
        return next(child for child in self._children if child.program.name == name)

    async def start(self, programs: list[Program]) -> None:
        """Start all, each after those it names in `after`. Raises StartFailed and stops nothing."""
        ready = {child.program.name: asyncio.Event() for child in self._children}
        for event in ready.values():
            event.set()
        ready |= {program.name: asyncio.Event() for program in programs}
        starts = [asyncio.create_task(self._start(program, ready)) for program in programs]
        try:
            await asyncio.gather(*starts)
        finally:
            for task in starts:
                task.cancel()
            await asyncio.gather(*starts, return_exceptions=True)

    async def stop(self) -> None:
        """Drain those that can be, then stop all, last started first."""
        self._stopping = True
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        drains = [child.program.drain for child in self._children if child.running]
        await asyncio.gather(*(asyncio.to_thread(drain) for drain in drains if drain))
        for child in reversed(self._children):
            await child.stop()
            self._reporter.stopped(child.program.name)

    def kill(self) -> None:
        """End everything at once, for the impatient second Ctrl-C."""
        for child in self._children:
            child.kill()

    async def trim_logs(self) -> None:
        """Empty logs that grow past their limit, for ever; the last full one is kept as `.1`."""
        while True:
            await asyncio.sleep(LOG_CHECK_S)
            for child in self._children:
                log = child.program.log
                if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
                    await asyncio.to_thread(_copy_and_empty, log)

    async def _start(self, program: Program, ready: dict[str, asyncio.Event]) -> None:
        for name in program.after:
            await ready[name].wait()
        began = time.monotonic()
        child = Child(program)
        self._children.append(child)
        await child.start()
        ready[program.name].set()
        self._reporter.ready(program.name, program.note, time.monotonic() - began)
        self._keepers.append(asyncio.create_task(self._keep(child)))

    async def _keep(self, child: Child) -> None:
        """Restart `child` whenever it ends, with growing delays while it keeps failing."""
        delays = Backoff()
        while True:
            reason = describe_exit(await child.wait())
            if self._stopping:
                return
            if child.uptime_s > LONG_UPTIME_S:
                delays.reset()
            await self._revive(child, reason, delays.next)

    async def _revive(self, child: Child, reason: str, next_delay: Callable[[], float]) -> None:
        name = child.program.name
        while True:
            delay = next_delay()
            self._reporter.crashed(name, reason, delay)
            await asyncio.sleep(delay)
            began = time.monotonic()
            try:
                await child.start()
            except StartFailed as error:
                child.kill()
                reason = str(error).removeprefix(f"{name} ")
                continue
            self._reporter.restarted(name, time.monotonic() - began)
            return


class Backoff:
    """Delays in seconds: almost none at first, then doubling."""

    def __init__(self) -> None:
        self._failures = 0

    def next(self) -> float:
        delay = min(0.1 * 2.0**self._failures, MAXIMUM_DELAY_S)
        self._failures += 1
        return delay

    def reset(self) -> None:
        self._failures = 0


def _copy_and_empty(log: Path) -> None:
    shutil.copyfile(log, log.with_name(f"{log.name}.1"))
    with log.open("r+b") as stream:
        stream.truncate(0)
