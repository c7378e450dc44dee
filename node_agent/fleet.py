"""All replicas of the node: adopted at the start, then led to what is desired."""

import asyncio
import logging
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import Any

from node_agent import orphans, process, staging
from node_agent.bandwidth import Throttle
from node_agent.failure import ReplicaFailed
from node_agent.host import Host
from node_agent.journal import Entry, ReplicaFolder
from node_agent.logs import LogTail
from node_agent.reconcile import Known, Replace, Start, Stop, actions
from node_agent.replica import ReplicaRunner
from node_agent.scratch import Scratch
from wire.messages import DesiredReplica, DesiredState, ObservedReplica
from wire.samples import ModelCounters

logger = logging.getLogger(__name__)

SETTLE_S = 0.5


class Fleet:
    """Use from one event loop. `drain_s` of the last desired state bounds every stop."""

    def __init__(self, folder: Path, host: Host) -> None:
        self._folder = folder
        self._host = host
        self._runners: dict[str, ReplicaRunner] = {}
        self._tails: dict[str, LogTail] = {}
        self._gone: dict[str, ObservedReplica] = {}  # stopped, not yet reported so
        self._dormant: dict[str, Entry] = {}  # in the journal, without a process
        self._changes: set[asyncio.Task[None]] = set()
        self._drain_s = 30.0
        self.generation = 0  # of the DesiredState last acted upon
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def tails(self) -> list[LogTail]:
        return list(self._tails.values())

    def adopt(self) -> None:
        """Take over the processes of an earlier agent; remember what else it left."""
        for path in sorted(self._folder.iterdir()):
            folder = ReplicaFolder(path)
            entry = folder.read()
            if entry is None or entry.replica.replica_id != path.name:
                logger.info("Removing %s: no journal of its own in it", path)
                staging.discard(path)
            elif entry.process is not None and process.alive(entry.process):
                logger.info("Adopting %s, process %d", path.name, entry.process.pid)
                self._add(entry.replica, adopt=entry)
            else:
                if entry.process is not None:  # ended while nobody watched: what it left ends, too
                    process.kill_session(entry.process)
                self._dormant[entry.replica.replica_id] = entry

    async def wake(self) -> None:
        """Start what the journal knows: serving must not wait for a silent control plane."""
        await self.end_orphans(only=self._dormant)
        for replica_id, entry in list(self._dormant.items()):
            if entry.replica.trial:  # nobody waits for it any more
                staging.discard(self._folder / replica_id)
                continue
            logger.warning("Starting %s from the journal: no control plane in reach", replica_id)
            self._add(entry.replica)
        self._dormant.clear()

    async def end_orphans(self, *, only: Collection[str] | None = None) -> None:
        """End runtimes of ours that no journal knows; of these replicas, or all."""
        found = await asyncio.to_thread(orphans.find, self._folder)
        # why only now: a runner may have started one meanwhile
        known = {runner.process.pid for runner in self._runners.values() if runner.process}
        await orphans.end(
            orphan
            for orphan in found
            if orphan.process.pid not in known and (only is None or orphan.replica_id in only)
        )

    def apply(self, desired: DesiredState) -> None:
        """Lead to `desired`; returns at once, the changes go on. An older state is ignored."""
        if desired.generation < self.generation:
            logger.info("Ignoring generation %d, at %d", desired.generation, self.generation)
            return
        self._drain_s = desired.drain_timeout_s
        known = {
            replica_id: Known(runner.replica.generation, runner.stopping)
            for replica_id, runner in self._runners.items()
        }
        for action in actions(desired.replicas, known):
            if isinstance(action, Start):
                self._add(action.replica)
            elif isinstance(action, Replace):
                self._change(
                    self._replace(self._runners[action.replica.replica_id], action.replica)
                )
            elif isinstance(action, Stop):
                self._change(self._remove(self._runners[action.replica_id]))
        self._discard_dormant(desired)
        self.generation = desired.generation

    def observed(self) -> tuple[ObservedReplica, ...]:
        seen = {replica_id: runner.observed for replica_id, runner in self._runners.items()}
        return tuple((self._gone | seen).values())

    def reported(self, replicas: tuple[ObservedReplica, ...]) -> None:
        """The control plane has heard these: a stopped one need not be told again."""
        for replica in replicas:
            if self._gone.get(replica.replica_id) == replica:
                del self._gone[replica.replica_id]

    def capturing(self) -> list[tuple[DesiredReplica, ReplicaFolder]]:
        """Replicas of which requests are captured."""
        return [
            (runner.replica, runner.folder)
            for runner in self._runners.values()
            if runner.replica.capture is not None and not runner.stopping
        ]

    def listening(self, replica_id: str) -> ObservedReplica | None:
        """A replica whose runtime listens, a trial too; None: there is none."""
        runner = self._runners.get(replica_id)
        return runner.observed if runner is not None and runner.observed.metrics_port else None

    def serving(self) -> list[tuple[DesiredReplica, ObservedReplica]]:
        """Replicas whose runtime listens."""
        return [
            (runner.replica, runner.observed)
            for runner in self._runners.values()
            if runner.observed.metrics_port and not runner.replica.trial
        ]

    def sampled(self, replica_id: str, pid: int, models: tuple[ModelCounters, ...]) -> None:
        """The counters of one runtime, just scraped."""
        if (runner := self._runners.get(replica_id)) is not None:
            runner.sampled(pid, models)

    async def mend(self, throttle: Throttle) -> bool:
        """Make the folders of all replicas right again; whether all are. Serving goes on."""
        mended = True
        for replica_id, runner in list(self._runners.items()):
            try:
                await runner.mend(throttle)
            except (ReplicaFailed, OSError) as error:
                logger.warning("The files of %s could not be mended yet: %s", replica_id, error)
                mended = False
        return mended

    async def leave(self) -> None:
        """End all watching; the processes run on."""
        await self._settle()
        await asyncio.gather(*(runner.leave() for runner in self._runners.values()))

    async def stop(self, *, longest_s: float) -> None:
        """Stop all replicas and keep their folders; drains are cut to `longest_s`."""
        await self._settle()
        drain = min(self._drain_s, longest_s)
        await asyncio.gather(
            *(runner.stop(drain_s=drain, discard=False) for runner in self._runners.values())
        )

    def _add(self, replica: DesiredReplica, *, adopt: Entry | None = None) -> None:
        folder = ReplicaFolder(self._folder / replica.replica_id)
        before = folder.read()
        if before is not None and _runs(before.replica) != _runs(replica):
            # what other code left in its home would be run, whatever is allowed now
            Scratch(folder.scratch).clear()
        self._gone.pop(replica.replica_id, None)
        self._dormant.pop(replica.replica_id, None)
        self._runners[replica.replica_id] = ReplicaRunner(replica, folder, self._host, adopt=adopt)
        self._tails[replica.replica_id] = LogTail(replica, folder)
        self._host.changed()

    def _change(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._changes.add(task)
        task.add_done_callback(self._changed)

    def _changed(self, task: asyncio.Task[None]) -> None:
        self._changes.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("A replica's change failed", exc_info=error)
        self._host.changed()

    async def _remove(self, runner: ReplicaRunner) -> None:
        runner.stopping = True
        await runner.stop(drain_s=self._drain_s, discard=True, settle_s=SETTLE_S)
        replica_id = runner.replica.replica_id
        self._gone[replica_id] = runner.observed
        del self._runners[replica_id], self._tails[replica_id]

    async def _replace(self, runner: ReplicaRunner, replica: DesiredReplica) -> None:
        await runner.stop(drain_s=self._drain_s, discard=False, settle_s=SETTLE_S)
        self._add(replica)

    async def _settle(self) -> None:
        """Cut short what is changing; each runner's own stop or leave then does the rest."""
        for task in list(self._changes):
            task.cancel()
        await asyncio.gather(*self._changes, return_exceptions=True)

    def _discard_dormant(self, desired: DesiredState) -> None:
        for replica_id in self._dormant.keys() - {item.replica_id for item in desired.replicas}:
            logger.info("Discarding %s: no longer desired", replica_id)
            staging.discard(self._folder / replica_id)
        self._dormant.clear()


def _runs(replica: DesiredReplica) -> tuple[object, ...]:
    """What tells whether two of one id run the same."""
    return replica.files, replica.inline_files, replica.code
