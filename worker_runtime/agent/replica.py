"""One replica from download to its end: the steps, the restarts, and what is reported of it."""

import asyncio
import contextlib
import dataclasses
import logging
import shutil
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wire.messages import DesiredReplica, ModelCounters, ObservedReplica, Problem
from worker_runtime.agent import gpus, health, launch, process, staging, trial
from worker_runtime.agent.backoff import Backoff
from worker_runtime.agent.bandwidth import Throttle
from worker_runtime.agent.cache import DISK_ERRORS, BlobCache
from worker_runtime.agent.failure import ReplicaFailed, disk_full, size
from worker_runtime.agent.journal import Entry, ReplicaFolder
from worker_runtime.agent.laid_out import LaidOut
from worker_runtime.agent.launch import RUNTIME, RuntimeCrashed
from worker_runtime.agent.logs import last_lines, masked
from worker_runtime.agent.probe import Ports, RuntimeProbe, read_ports, write_ports
from worker_runtime.agent.process import ProcessIdentity
from worker_runtime.agent.reasons import may_pass, without_network
from worker_runtime.agent.sandbox import NONE, Sandbox
from worker_runtime.agent.scratch import Scratch
from worker_runtime.agent.signed import SignedOnly
from worker_runtime.agent.strain import Strain, StrainRule
from worker_runtime.types.gpu_memory import gpu_bytes_wanted

logger = logging.getLogger(__name__)

CRASH_LIMIT = 5
CRASH_WINDOW_S = 600.0
LIVE_INTERVAL_S = 5.0
LOAD_RETRIES = 2  # of a load that failed for what may pass
SILENCE_LIMIT_S = 60.0  # a runtime that has not answered for so long is killed and started again
LONG_RUN_S = 60.0
SCRATCH_INTERVAL_S = 5.0  # between two looks at how much it has written
RUNTIME_NEEDS_BYTES = 1 << 20  # of disk, for the file that names its ports, and some lines of log
UNREADY_GRACE_S = 5.0  # a runtime without requests has nothing to drain
NETWORK_NONE = (
    "This replica has no network (SHOAL_SANDBOX_NETWORK=none on its node): a model that fetches "
    "something when it is loaded, and a requirements.txt, need `all` there, or must bring it."
)
NO_PROCESS = {"pid": 0, "http_port": 0, "grpc_port": 0, "metrics_port": 0}
# states in which its repository is there, and a runtime may have it open
HAS_REPOSITORY = ("starting", "loading", "warming", "ready")
COMING_UP = ("starting", "loading", "warming")


@dataclass(frozen=True, slots=True)
class Host:
    """What all replicas of the node share. `runtime` is the command that serves a repository."""

    cache: BlobCache
    address: str
    bind: str
    sandbox: Sandbox
    changed: Callable[[], None]  # called after each change worth a report
    runtime: tuple[str, ...] = RUNTIME
    crash_delay_s: float = 0.5
    strain: StrainRule = field(default_factory=StrainRule)
    signed_only: SignedOnly | None = None  # None: whatever the control plane says
    # replica id -> its state: what it has yet to take of a GPU cannot be told from the others'
    states: dict[str, str] = field(default_factory=dict)


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
        self._files = LaidOut(replica, folder.repository, host.cache)
        self._process = adopt.process if adopt else None
        self._warm = adopt.warm if adopt else False
        # why an adopted warm one is ready at once: any other word would take it out of traffic.
        ports = read_ports(folder.ready_file, self._process.pid) if self._process else None
        adopted_state = "ready" if self._warm and ports else "loading"
        self._observed = ObservedReplica(
            replica_id=replica.replica_id,
            generation=replica.generation,
            state=adopted_state if adopt else "pending",
            http_port=ports.http if ports else 0,
            grpc_port=ports.grpc if ports else 0,
            metrics_port=ports.metrics if ports else 0,
            address=host.address,
            pid=self._process.pid if self._process else 0,
            restarts=adopt.restarts if adopt else 0,
            started_at=adopt.started_at if adopt else 0.0,
            load_seconds=adopt.load_seconds if adopt else 0.0,
        )
        self._strain = Strain(host.strain, fresh=False)
        self._gpu_free = 0  # when the runtime was started, and no other one was on its way
        self._crashes: deque[float] = deque(maxlen=CRASH_LIMIT)
        self._task = asyncio.create_task(self._run(), name=f"replica {replica.replica_id}")

    @property
    def observed(self) -> ObservedReplica:
        return self._observed

    @property
    def process(self) -> ProcessIdentity | None:
        return self._process

    def sampled(self, pid: int, models: tuple[ModelCounters, ...]) -> None:
        """The counters of process `pid`, just scraped: has it a way back by itself?"""
        if self._observed.state != "ready" or self._observed.pid != pid:
            return
        problem = self._strain.observe(models, time.monotonic())
        if problem != self._observed.error:
            self.folder.note(
                f"{problem.code}: {problem.message}" if problem else "it has recovered"
            )
            self._set(error=problem)

    async def stop(self, *, drain_s: float, discard: bool, settle_s: float = 0.0) -> None:
        """Drain for at most `drain_s` seconds and end; with `discard` its folder goes too.

        One that answers goes on doing so for `settle_s` more: what gateways have already decided to
        send here is on its way. One that is not ready has nothing to drain, and gets less time.
        """
        self.stopping = True
        answering = self._observed.state == "ready"
        await self._cancel()
        if self._process is not None:
            self._set(state="draining")
            if answering:
                await asyncio.sleep(settle_s)
            grace_s = drain_s if answering else min(drain_s, UNREADY_GRACE_S)
            if not await process.end(self._process, grace_s=grace_s):
                self.folder.note(f"the runtime did not end within {grace_s:g} s: killed")
            self._process = None
        self._set(state="stopped", **NO_PROCESS)
        self._host.states.pop(self.replica.replica_id, None)
        self._host.sandbox.ended(self.replica.replica_id)
        self._journal()
        self.folder.note("stopped")
        if discard:
            await asyncio.to_thread(staging.discard, self.folder.path)

    async def mend(self, throttle: Throttle) -> None:
        """Make its folder again what it should be, while it serves. Raises ReplicaFailed, OSError.

        Files of the repository whose bytes have changed get the right ones, from the cache or anew;
        a folder that was deleted is laid out again. What the runtime has loaded stays as it is.
        """
        if self.stopping or self._observed.state not in HAS_REPOSITORY:
            return
        if not self.folder.repository.exists():
            self.folder.note("its folder was deleted; laying it out again")
            await self._files.lay_out()
            self._journal()
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
            if self._process is None:
                await self._provide()
            try:
                await self._serve_at_last()
            except ReplicaFailed as error:
                if not await self._spoiled(error.problem):
                    raise
                await self._end_process()
                await self._provide()
                await self._serve()
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

    async def _serve_at_last(self) -> None:
        """Serve; a load that fails for what may pass is tried twice more. Raises ReplicaFailed."""
        delays = Backoff(first_s=self._host.crash_delay_s, limit_s=60.0)
        for tries_left in reversed(range(1 + LOAD_RETRIES)):
            try:
                await self._serve()  # ends by what it raises
            except ReplicaFailed as error:
                if not tries_left or not may_pass(error.problem):
                    raise
                delay = delays.next()
                self.folder.note(f"{error.problem.message} Trying again in {delay:.1f} s")
                await self._end_process()
                self._set(state="starting", error=None, **NO_PROCESS)
                self._journal()
                await asyncio.sleep(delay)

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
        self._signature_check()
        total = sum({file.sha256: file.size for file in replica.files}.values())
        self._set(state="downloading", total_bytes=total, downloaded_bytes=0, cached_bytes=0)
        self._journal()
        self.folder.note(f"fetching {len(replica.files)} files, {size(total)}")
        began = time.monotonic()
        await self._files.lay_out(self._progressed)
        self.folder.note(
            f"repository complete after {time.monotonic() - began:.1f} s, "
            f"{size(self._observed.cached_bytes)} were already here"
        )

    def _progressed(self, cached: int, fetched: int) -> None:
        seen = self._observed
        self._set(
            downloaded_bytes=seen.downloaded_bytes + cached + fetched,
            cached_bytes=seen.cached_bytes + cached,
        )

    async def _serve(self) -> None:
        """Start, watch and restart the runtime until it keeps crashing."""
        delays = Backoff(first_s=self._host.crash_delay_s, limit_s=60.0)
        while True:
            try:
                if self._process is None:
                    if self._unseen_repository() or not self.folder.repository.exists():
                        await self._files.lay_out()
                    await self._look_at_gpus()
                    self._start()
                await self._live_through()
            except RuntimeCrashed as crash:
                self._process = None
                if time.time() - self._observed.started_at > LONG_RUN_S:
                    delays.reset()
                self._crashes.append(time.monotonic())
                self._give_up_if_looping(crash)
                delay = delays.next()
                self.folder.note(f"the runtime {crash}; starting it again in {delay:.1f} s")
                self._set(
                    state="starting",
                    error=None,
                    restarts=self._observed.restarts + 1,
                    **NO_PROCESS,
                )
                self._journal()
                await asyncio.sleep(delay)

    async def _look_at_gpus(self) -> None:
        visible = launch.environment(self._host.sandbox.inherited, self.replica).get(
            "CUDA_VISIBLE_DEVICES"
        )
        found = await asyncio.to_thread(gpus.gpus)
        self._gpu_free = 0 if self._others_come_up() else gpus.free_bytes(found, visible)

    def _others_come_up(self) -> bool:
        states = self._host.states.items()
        return any(key != self.replica.replica_id and state in COMING_UP for key, state in states)

    def _gpu_needed(self, problem: Problem) -> int:
        """At least so much of one GPU, by its words and what was free before; 0: unknown."""
        if problem.code != "GpuOutOfMemory":
            return 0
        free = 0 if self._others_come_up() else self._gpu_free
        return max(gpu_bytes_wanted(problem.detail), free + 1 if free else 0)

    def _unseen_repository(self) -> bool:
        """Laid out by an agent before this one, which may have had no keys."""
        return self._host.signed_only is not None and not self._files.laid_out

    def _signature_check(self) -> None:
        """Before bytes are fetched, and before each start: one that was adopted may be older than
        the node's keys. Raises ReplicaFailed."""
        if self._host.signed_only is not None:
            self._host.signed_only.check(self.replica)

    def _start(self) -> None:
        folder, replica = self.folder, self.replica
        self._signature_check()
        folder.ready_file.unlink(missing_ok=True)
        self._warm = False
        self._strain = Strain(self._host.strain, fresh=True)
        with launch.listening(self._host.bind) as sockets:
            command = launch.command(self._host.runtime, replica, folder, sockets)
            start = self._host.sandbox.launch(command, replica, folder)
            try:
                self._process = process.spawn(
                    start.argv,
                    folder=folder.path,
                    log=folder.runtime_log,
                    environment=start.environment,
                    given=start.given,
                    descriptors=tuple(handed.fileno() for handed in sockets.values()),
                )
            except (FileNotFoundError, PermissionError) as error:
                raise launch.no_program(start.argv[0], error) from error
            ports = Ports(*(sockets[name].getsockname()[1] for name in launch.PROTOCOLS))
        self._set(
            state="starting",
            pid=self._process.pid,
            started_at=time.time(),
            http_port=ports.http,
            grpc_port=ports.grpc,
            metrics_port=ports.metrics,
        )
        self._journal()
        self.folder.note(f"started the runtime as process {self._process.pid}")

    async def _live_through(self) -> None:
        """From listening to the end of the process. Raises RuntimeCrashed, ReplicaFailed."""
        if self._process is None:
            raise RuntimeError("no process to watch")
        ended = asyncio.create_task(process.exited(self._process))
        work = asyncio.create_task(self._bring_up_and_watch(self._process))
        full = asyncio.create_task(self._until_full())
        tasks = (ended, work, full)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if full.done():
                await self._end_full(self._process, full.result())
            if ended.done():
                raise launch.ended(ended.result())
            work.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_full(self) -> int:
        """Until it has written more than it may; how much. No kernel counts that for a folder."""
        most, scratch = self._host.sandbox.settings.disk_bytes, Scratch(self.folder.scratch)
        used = 0
        while not most or used <= most:
            await asyncio.sleep(SCRATCH_INTERVAL_S)
            used = await asyncio.to_thread(scratch.used_bytes)
        return used

    async def _end_full(self, identity: ProcessIdentity, used: int) -> None:
        """End it and remove what it wrote. Raises RuntimeCrashed."""
        await process.end(identity, grace_s=0.0)
        await asyncio.to_thread(Scratch(self.folder.scratch).clear)
        most = self._host.sandbox.settings.disk_bytes
        raise RuntimeCrashed(
            f"was ended: it had written {size(used)} into its own folders, and may {size(most)}"
        )

    async def _bring_up_and_watch(self, identity: ProcessIdentity) -> None:
        began = time.monotonic()
        timeout = self.replica.load_timeout_s
        try:
            async with asyncio.timeout(timeout):
                if not self._observed.http_port:  # adopted, and nobody knows where it listens
                    await process.end(identity, grace_s=1.0)
                    raise RuntimeCrashed("had to be ended: the file with its ports was lost")
                if not self._warm:
                    self._set(state="loading")
                probe = RuntimeProbe(_local(self._host.bind), self._observed.http_port)
                try:
                    await self._load_and_warm(probe, began)
                except ReplicaFailed as error:
                    raise self._with_log(error) from error
                finally:
                    await probe.close()
        except TimeoutError as error:
            raise self._with_log(
                ReplicaFailed(
                    "LoadTimeout",
                    f"The model was not ready after {timeout:.0f} s.",
                    hints=("Raise the load timeout, or look at the log for what takes so long.",),
                )
            ) from error
        await self._watch()

    async def _load_and_warm(self, probe: RuntimeProbe, began: float) -> None:
        rule = self.replica.readiness
        if rule is not None and not self._warm:
            await asyncio.sleep(rule.initial_delay_s)
        await probe.until_ready(self.replica.models)
        if rule is not None and not self._warm:
            await health.until_ready(rule, lambda _: probe.ready(self.replica.models))
        if not self._warm:
            loaded = time.monotonic() - began
            self._set(state="warming", load_seconds=loaded)
            self.folder.note(f"models ready after {loaded:.1f} s")
            for model in self.replica.models or await probe.names():
                if refusal := await probe.warm(model):
                    self.folder.note(f"warning: first inference of {model}: {refusal}")
            self._warm = True
        findings = await self._findings()
        self._set(state="ready", error=None, **findings)
        self._journal()
        self.folder.note("ready")

    async def _findings(self) -> dict[str, Any]:
        """What a trial was started for; nothing for what serves."""
        if not self.replica.trial:
            return {}
        host, port = _local(self._host.bind), self._observed.http_port
        configs = await trial.served_configs(host, port, self.replica.models)
        return {"configs": configs, "log": self._last_lines(trial.LOG_LINES)}

    async def _watch(self) -> None:
        """Until the runtime is silent for too long; its exit is seen elsewhere."""
        probe = RuntimeProbe(_local(self._host.bind), self._observed.http_port)
        rule = self.replica.liveness
        try:
            if rule is None:
                await _until_silent(probe)
                silence = f"has not answered for {SILENCE_LIMIT_S:.0f} s"
            else:
                await health.until_dead(rule, probe.live)
                silence = f"has failed its liveness probe {rule.failure_threshold} times in a row"
        finally:
            await probe.close()
        self.folder.note(f"the runtime {silence}; ending it")
        if self._process is not None:
            await process.end(self._process, grace_s=1.0)
        raise RuntimeCrashed("hung")

    def _give_up_if_looping(self, crash: RuntimeCrashed) -> None:
        if self.replica.trial:
            raise self._with_log(trial.crashed(crash))
        recent = [at for at in self._crashes if time.monotonic() - at < CRASH_WINDOW_S]
        if len(recent) >= CRASH_LIMIT:
            free = shutil.disk_usage(self.folder.path).free
            if free < RUNTIME_NEEDS_BYTES:
                where = str(self.folder.path)
                raise self._with_log(
                    disk_full(RUNTIME_NEEDS_BYTES, free, where=where, limit="disk")
                )
            raise self._with_log(
                ReplicaFailed(
                    "CrashLoop",
                    f"The runtime ended {CRASH_LIMIT} times within "
                    f"{CRASH_WINDOW_S / 60:.0f} minutes; the last time it {crash}.",
                    hints=("The log's last lines usually name the cause.",),
                )
            )

    def _last_lines(self, count: int) -> str:
        return masked(self.replica, last_lines(self.folder.runtime_log, count))

    def _with_log(self, error: ReplicaFailed) -> ReplicaFailed:
        lines = self._last_lines(20)
        problem = error.problem
        detail = "\n\n".join(part for part in (problem.detail, lines) if part)
        hints = problem.hints
        if self._host.sandbox.network_of(self.replica) == NONE and without_network(detail):
            hints = (NETWORK_NONE, *hints)
        return ReplicaFailed(problem.code, problem.message, detail=detail, hints=hints)

    async def _fail(self, problem: Problem) -> None:
        logger.warning("Replica %s failed: %s", self.replica.replica_id, problem.message)
        self.folder.note(f"failed: {problem.code}: {problem.message}")
        needed = self._gpu_needed(problem)
        await self._end_process()
        self._set(state="failed", error=problem, gpu_needed_bytes=needed, **NO_PROCESS)
        self._journal()

    async def _end_process(self) -> None:
        if self._process is not None:
            await process.end(self._process, grace_s=2.0)
            self._process = None

    def _set(self, **changes: object) -> None:
        before = self._observed
        self._observed = dataclasses.replace(before, **changes)  # type: ignore[arg-type] # fields by name
        self._host.states[self.replica.replica_id] = self._observed.state
        if self._observed != before:
            self._host.changed()

    def _tell_ports(self, pid: int) -> None:
        """To the agent that comes after us; of one process they stay the same. Raises OSError."""
        seen, file = self._observed, self.folder.ready_file
        if seen.http_port and read_ports(file, pid) is None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_ports(file, pid, Ports(seen.http_port, seen.grpc_port, seen.metrics_port))

    def _journal(self) -> None:
        """On a disk that is full the old entry stays. What runs goes on, and is told; should this
        agent end, too, the next one ends a runtime that it finds in no journal, and starts anew.
        """
        seen = self._observed
        try:
            if self._process is not None:
                self._tell_ports(self._process.pid)
            self.folder.write(
                Entry(
                    replica=self.replica,
                    process=self._process,
                    warm=self._warm,
                    restarts=seen.restarts,
                    started_at=seen.started_at,
                    load_seconds=seen.load_seconds,
                )
            )
        except OSError as error:
            if error.errno not in DISK_ERRORS:
                raise
            logger.warning("The journal of %s is not written: %s", self.replica.replica_id, error)


async def _until_silent(probe: RuntimeProbe) -> None:
    """The rule of our own, where the deployment sets none."""
    heard = time.monotonic()
    while time.monotonic() - heard < SILENCE_LIMIT_S:
        await asyncio.sleep(LIVE_INTERVAL_S)
        if await probe.live():
            heard = time.monotonic()


def _local(bind: str) -> str:
    """Where the agent itself reaches a server bound to `bind`."""
    return "127.0.0.1" if bind == "0.0.0.0" else bind  # noqa: S104 - a comparison
