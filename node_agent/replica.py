"""One replica from download to its end: the steps, and how it fails."""

import asyncio
import contextlib
import logging
import shutil
import time

from node_agent import process, staging
from node_agent.bandwidth import Throttle
from node_agent.cache import DISK_ERRORS
from node_agent.failure import RUNTIME_NEEDS_BYTES, ReplicaFailed, disk_full, size
from node_agent.host import Host
from node_agent.journal import Entry, ReplicaFolder
from node_agent.process import ProcessIdentity
from node_agent.record import NO_PROCESS, Record
from node_agent.repository import Repository
from node_agent.serving import Serving
from wire.messages import DesiredReplica, ObservedReplica, Problem
from wire.samples import ModelCounters

logger = logging.getLogger(__name__)

UNREADY_GRACE_S = 5.0  # a runtime without requests has nothing to drain
# states in which its repository is there, and a runtime may have it open
HAS_REPOSITORY = ("starting", "loading", "warming", "ready")


class ReplicaRunner:
    """Runs one replica in a task of the event loop until it is stopped or has failed."""

    def __init__(
        self,
        replica: DesiredReplica,
        folder: ReplicaFolder,
        host: Host,
        *,
        adopt: Entry | None = None,
    ) -> None:
        self.replica = replica
        self.folder = folder
        self.stopping = False
        self._host = host
        self._files = Repository(replica, folder.repository, host.cache)
        self._record = Record(replica, folder, host, adopt)
        self._serving = Serving(self._record, self._files)
        self._task = asyncio.create_task(self._run(), name=f"replica {replica.replica_id}")

    @property
    def observed(self) -> ObservedReplica:
        return self._record.observed

    @property
    def process(self) -> ProcessIdentity | None:
        return self._record.process

    def sampled(self, pid: int, models: tuple[ModelCounters, ...]) -> None:
        """The counters of process `pid`, just scraped."""
        self._serving.sampled(pid, models)

    async def stop(self, *, drain_s: float, discard: bool, settle_s: float = 0.0) -> None:
        """Drain for at most `drain_s` seconds and end; with `discard` its folder goes too.

        One that answers goes on doing so for `settle_s` more: what gateways have already decided to
        send here is on its way. One that is not ready has nothing to drain, and gets less time.
        """
        self.stopping = True
        record = self._record
        answering = self.observed.state == "ready"
        await self._cancel()
        if record.process is not None:
            record.set(state="draining")
            if answering:
                await asyncio.sleep(settle_s)
            grace_s = drain_s if answering else min(drain_s, UNREADY_GRACE_S)
            if not await process.end(record.process, grace_s=grace_s):
                self.folder.note(f"the runtime did not end within {grace_s:g} s: killed")
            record.process = None
        record.set(state="stopped", **NO_PROCESS)
        self._host.states.pop(self.replica.replica_id, None)
        self._host.sandbox.ended(self.replica.replica_id, self.folder)
        record.journal()
        self.folder.note("stopped")
        if discard:
            await asyncio.to_thread(self._take_captured)
            await asyncio.to_thread(staging.discard, self.folder.path)

    def _take_captured(self) -> None:
        """What its runtime wrote last, before its folder goes."""
        if self._host.outbox is None:
            return
        try:
            while self._host.outbox.take(self.replica, self.folder):
                pass
        except OSError as error:
            logger.warning("Captured data of %s is lost: %s", self.replica.replica_id, error)

    async def mend(self, throttle: Throttle) -> None:
        """Make its folder again what it should be, while it serves. Raises ReplicaFailed, OSError.

        Files of the repository whose bytes have changed get the right ones, from the cache or anew;
        a folder that was deleted is laid out again. What the runtime has loaded stays as it is.
        """
        if self.stopping or self.observed.state not in HAS_REPOSITORY:
            return
        if not self.folder.repository.exists():
            self.folder.note("its folder was deleted; laying it out again")
            await self._files.stage()
            self._record.journal()
            return
        for file in await self._files.mend(throttle):
            self.folder.note(
                f"{file.path} had changed on this node's disk; it has the right bytes again. "
                "What the runtime loaded before serves on."
            )

    async def leave(self) -> None:
        """End the watching, not the process: the next agent adopts it."""
        self.stopping = True
        await self._cancel()

    async def _cancel(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        try:
            if self.process is None:
                await self._provide()
            try:
                await self._serving.run()
            except ReplicaFailed as error:
                if not await self._spoiled(error.problem):
                    raise
                await self._record.end_process()
                await self._provide()
                await self._serving.run_once()
        except ReplicaFailed as error:
            await self._fail(error.problem)
        except OSError as error:
            logger.exception("Replica %s", self.replica.replica_id)
            await self._fail(self._of_the_disk(error))
        except Exception as error:
            logger.exception("Replica %s", self.replica.replica_id)
            await self._fail(
                Problem("AgentError", f"The node agent could not run this replica: {error}")
            )

    def _of_the_disk(self, error: OSError) -> Problem:
        if error.errno not in DISK_ERRORS:
            return Problem("AgentError", f"The node agent could not run this replica: {error}")
        free = shutil.disk_usage(self.folder.path.parent).free
        where = str(self.folder.path)
        return disk_full(RUNTIME_NEEDS_BYTES, free, where=where, limit="disk").problem

    async def _spoiled(self, problem: Problem) -> bool:
        """Whether bytes that rotted in the cache may be why the model does not load."""
        if problem.code != "ModelLoadFailed":
            return False
        spoiled = await self._host.cache.recheck(self.replica.files)
        # and those whose blob was put aside before, while this replica still had its bytes
        spoiled += [file for file, _ in await self._files.wrong()]
        for path in sorted({file.path for file in spoiled}):
            self.folder.note(f"{path} had changed on this node's disk; fetching it again")
        return bool(spoiled)

    async def _provide(self) -> None:
        """Blobs and repository."""
        replica = self.replica
        self._host.check_signature(replica)
        total = sum({file.sha256: file.size for file in replica.files}.values())
        self._record.set(state="downloading", total_bytes=total, downloaded_bytes=0, cached_bytes=0)
        self._record.journal()
        self.folder.note(f"fetching {len(replica.files)} files, {size(total)}")
        began = time.monotonic()
        await self._files.stage(self._progressed)
        self.folder.note(
            f"repository complete after {time.monotonic() - began:.1f} s, "
            f"{size(self.observed.cached_bytes)} were already here"
        )

    def _progressed(self, cached: int, fetched: int) -> None:
        seen = self.observed
        self._record.set(
            downloaded_bytes=seen.downloaded_bytes + cached + fetched,
            cached_bytes=seen.cached_bytes + cached,
        )

    async def _fail(self, problem: Problem) -> None:
        logger.warning("Replica %s failed: %s", self.replica.replica_id, problem.message)
        self.folder.note(f"failed: {problem.code}: {problem.message}")
        needed = self._serving.gpu.least_bytes(problem)
        await self._record.end_process()
        self._record.set(state="failed", error=problem, gpu_needed_bytes=needed, **NO_PROCESS)
        self._record.journal()
