"""Keeps the runtime of a replica going: starts it, and starts it again while that is of use."""

import asyncio
import time
from pathlib import Path

from node_agent.backoff import Backoff
from node_agent.crashes import Crashes
from node_agent.failure import ReplicaFailed
from node_agent.gpu_need import GpuNeed
from node_agent.launch import RuntimeCrashed
from node_agent.memory_pressure import MemoryPressure
from node_agent.process import ProcessIdentity
from node_agent.reasons import may_pass
from node_agent.record import NO_PROCESS, Record
from node_agent.repository import Repository
from node_agent.start import start
from node_agent.watch import Watch
from wire.samples import ModelCounters

LOAD_RETRIES = 2  # of a load that failed for what may pass
LONG_RUN_S = 60.0


class Serving:
    """Of one replica, whose `files` have been laid out, or were by an agent before this one."""

    def __init__(self, record: Record, files: Repository) -> None:
        self.gpu = GpuNeed(record)
        self._record = record
        self._files = files
        self._pressure = MemoryPressure(record.host.memory_pressure, fresh=False)
        self._crashes = Crashes(record)

    def sampled(self, pid: int, models: tuple[ModelCounters, ...]) -> None:
        """The counters of process `pid`, just scraped: has it a way back by itself?"""
        record = self._record
        if record.observed.state != "ready" or record.observed.pid != pid:
            return
        problem = self._pressure.observe(models, time.monotonic())
        if problem != record.observed.error:
            record.folder.note(
                f"{problem.code}: {problem.message}" if problem else "it has recovered"
            )
            record.set(error=problem)

    async def run(self) -> None:
        """Serve; a load that fails for what may pass is tried twice more. Raises ReplicaFailed."""
        record = self._record
        delays = Backoff(first_s=record.host.crash_delay_s, limit_s=60.0)
        for tries_left in reversed(range(1 + LOAD_RETRIES)):
            try:
                await self.run_once()  # ends by what it raises
            except ReplicaFailed as error:
                if not tries_left or not may_pass(error.problem):
                    raise
                delay = delays.next()
                record.folder.note(f"{error.problem.message} Trying again in {delay:.1f} s")
                await record.end_process()
                record.set(state="starting", error=None, **NO_PROCESS)
                record.journal()
                await asyncio.sleep(delay)

    async def run_once(self) -> None:
        """Start, watch and restart the runtime until it keeps crashing. Raises ReplicaFailed."""
        record = self._record
        delays = Backoff(first_s=record.host.crash_delay_s, limit_s=60.0)
        while True:
            try:
                identity = record.process or await self._start()
                await Watch(record, identity).until_end()
            except RuntimeCrashed as crash:
                record.process = None
                if time.time() - record.observed.started_at > LONG_RUN_S:
                    delays.reset()
                self._crashes.add(crash)
                delay = delays.next()
                record.folder.note(f"the runtime {crash}; starting it again in {delay:.1f} s")
                restarts = record.observed.restarts + 1
                changes = {"restarts": restarts, "ended": str(crash), **NO_PROCESS}
                record.set(state="starting", error=None, **changes)
                record.journal()
                await asyncio.sleep(delay)

    async def _start(self) -> ProcessIdentity:
        if self._unseen_repository() or not self._record.folder.repository.exists():
            await self._files.stage()
        environments = await self._environments()
        await self.gpu.look()
        if self._record.host.forks is not None:
            await self._record.host.forks.settled()
        identity = start(self._record, environments)
        self._pressure = MemoryPressure(self._record.host.memory_pressure, fresh=True)
        return identity

    async def _environments(self) -> tuple[Path, ...]:
        """Of its Python models, as far as this node keeps them. Raises ReplicaFailed, OSError."""
        record = self._record
        if record.host.environments is None:
            return ()
        record.host.check_signature(record.replica)
        began, seconds = time.monotonic(), 0.0

        def told(line: str) -> None:
            nonlocal seconds
            seconds = time.monotonic() - began
            record.set(state="starting", **NO_PROCESS | {"installing": record.masked(line)})

        try:
            found = await record.host.environments.provide(record.replica, record.folder, told)
        except ReplicaFailed as error:
            raise record.with_log(error) from error
        if seconds:
            seconds = time.monotonic() - began
        record.set(state="starting", install_seconds=seconds, **NO_PROCESS)
        return found

    def _unseen_repository(self) -> bool:
        """Laid out by an agent before this one, which may have had no keys."""
        return self._record.host.signed_only is not None and not self._files.staged
