"""The agent itself: loops that converge, report, sample and ship logs, each on its own."""

import asyncio
import dataclasses
import json
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from node_agent import identity, sampler, trust, wake_up
from node_agent.backoff import Backoff
from node_agent.bandwidth import Throttle
from node_agent.cache import BlobCache
from node_agent.cache_upkeep import CacheUpkeep
from node_agent.capture_shipping import CaptureShipping
from node_agent.certificate import LOOK_S, Certificate
from node_agent.client import ControlClient, ControlError, CredentialRefused
from node_agent.environments import Environments
from node_agent.fleet import Fleet
from node_agent.folder import NodeFolder
from node_agent.fork_server import ForkServer
from node_agent.gpus import memory_by_process
from node_agent.host import Host
from node_agent.identity import Identity
from node_agent.launch import RUNTIME
from node_agent.load_sweep import LoadSweeps
from node_agent.log_shipping import LogShipping
from node_agent.machine import Machine
from node_agent.news import News
from node_agent.outbox import Outbox
from node_agent.recheck import Schedule
from node_agent.rest import Rest
from node_agent.sampling import Sampling
from node_agent.sandbox import Sandbox, prepared
from node_agent.settings import AgentSettings
from node_agent.span_shipping import FLAGS, SpanShipping
from node_agent.usage import with_memory
from wire.messages import NodeReport, ReportReply

logger = logging.getLogger(__name__)

ALONE_AFTER_S = 10.0  # without a control plane: dormant replicas then start from the journal
REPORT_GAP_S = 0.3
RESTING_POLL_S = 30.0  # between polls while wake-ups arrive
STOP_DRAIN_S = 10.0
LAST_REPORT_S = 2.0


class Agent:
    """One node, whose folder is taken. `run` ends after `request_stop`."""

    def __init__(
        self,
        settings: AgentSettings,
        folder: NodeFolder,
        sandbox: Sandbox,
        *,
        runtime: tuple[str, ...] = RUNTIME,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._authority = settings.folder / "control-ca.pem"
        self._authority_pem = b""  # what is in it, should it be deleted
        self._client = ControlClient(
            settings.control_url,
            trusted=trust.kept(self._authority) or trust.given(settings.control_authority),
        )
        self._certificate = Certificate(
            settings.folder / "certificate.json", self._client, via=settings.control_url
        )
        self._woken = asyncio.Event()
        self._flows = asyncio.Event()  # set while wake-ups arrive
        self._sooner = asyncio.Event()  # samples are wanted more often than before
        self._changed = asyncio.Event()
        self._until_next_poll = Rest(self._woken)
        self._until_next_report = Rest(self._changed)
        self._until_next_sample = Rest(self._sooner)
        self._news = News()
        self._stop = asyncio.Event()
        self._stop_replicas = False
        self._node: Identity | None = None  # until it has joined
        self._machine = Machine(
            name=settings.node_name,
            address=settings.address,
            folder=settings.folder,
            folder_id=folder.id(),
            cache_quota_bytes=settings.cache_quota_bytes,
            download_rate=settings.download_rate,
            sandbox=sandbox.holds,
            labels=settings.labels,
            inherited=settings.inherited,
        )
        self._cache = BlobCache(
            settings.folder / "cache",
            self._client,
            quota_bytes=settings.cache_quota_bytes,
            download_rate=settings.download_rate,
        )
        self._host = host = Host(
            cache=self._cache,
            address=settings.address,
            bind=settings.bind,
            sandbox=sandbox,
            changed=self._note_change,
            runtime=runtime,
            flags=FLAGS if settings.traces_url else (),
            memory_pressure=settings.memory_pressure,
            environments=Environments(settings.folder / "environments", sandbox),
            forks=ForkServer(settings.inherited, settings.folder / "fork-server.log")
            if settings.fork_server and runtime == RUNTIME and sandbox.holds
            else None,
            signed_only=settings.signed_only,
            outbox=(outbox := Outbox(settings.folder / "captured")),
        )
        self._fleet = Fleet(settings.folder / "replicas", host)
        self._captures = CaptureShipping(outbox, self._fleet, self._client)
        self._spans = (
            SpanShipping(self._fleet, settings.traces_url, settings.node_name)
            if settings.traces_url
            else None
        )
        self._logs = LogShipping(self._fleet, self._client)
        self._loads = LoadSweeps(self._fleet, host.local, settings.inherited, self._note_change)
        schedule = Schedule(
            settings.folder / "recheck.json",
            interval_s=settings.recheck_interval_s,
            clock=time.time,
        )
        self._upkeep = CacheUpkeep(
            self._cache,
            schedule,
            Throttle(settings.recheck_rate),
            client=self._client,
            machine=self._machine,
            mend=self._fleet.mend,
        )
        self._poll_s = 2.0
        self._heartbeat_s = 5.0
        self._refused: set[str] = set()
        self._sample_s = sampler.INTERVAL_S
        self._sampling = Sampling(self._fleet, self._machine)
        self._rests = False  # it samples less often than it is asked to
        self._orphans_ended = False

    def request_stop(self, *, replicas: bool) -> None:
        """End `run`; with `replicas` they are stopped, else left to the next agent."""
        self._stop_replicas = replicas
        self._stop.set()

    async def run(self) -> None:
        """Adopt, join, and work until asked to stop. Raises identity.CannotJoin."""
        self._fleet.adopt()
        loops = asyncio.create_task(self._work())
        stop = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({loops, stop}, return_when=asyncio.FIRST_COMPLETED)
            if loops.done():
                loops.result()
        finally:
            for task in (loops, stop):
                task.cancel()
            await asyncio.gather(loops, stop, return_exceptions=True)
            await self._end()

    async def _work(self) -> None:
        credential = self._settings.folder / "credential.json"
        beside = [asyncio.create_task(self._start_when_alone())]
        if self._host.forks is not None:
            beside.append(asyncio.create_task(self._forever(self._host.forks.run_once)))
        try:
            await self._identify(credential)
            await self._show_certificate()
            async with asyncio.TaskGroup() as loops:
                loops.create_task(self._forever(self._keep_certificate))
                loops.create_task(self._forever(self._converge))
                loops.create_task(self._forever(self._listen_for_wake_ups))
                loops.create_task(self._forever(self._report))
                loops.create_task(self._forever(self._sample))
                loops.create_task(self._forever(self._logs.run_once))
                loops.create_task(self._forever(self._captures.run_once))
                if self._spans is not None:
                    loops.create_task(self._forever(self._spans.run_once))
                loops.create_task(self._forever(self._upkeep.report_cache))
                loops.create_task(self._forever(self._upkeep.recheck_cache))
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _identify(self, credential: Path) -> None:
        node = identity.read(credential)
        if node is None:
            node = await identity.join(
                self._client,
                token=self._settings.join_token,
                node=await asyncio.to_thread(self._machine.describe),
                file=credential,
                verify=self._verify_control_plane,
            )
            (self._settings.folder / "join-token").unlink(missing_ok=True)
        self._client.use_credential(node.credential)
        self._heartbeat_s = node.heartbeat_interval_s
        self._node = node
        if self._authority.exists():
            self._authority_pem = self._authority.read_bytes()

    async def _verify_control_plane(self) -> None:
        """Make sure that it is the control plane which made the token. Raises ControlError."""
        trusted = await trust.establish(
            self._settings.control_url, token=self._settings.join_token, file=self._authority
        )
        if trusted is not None:
            await self._client.move(self._settings.control_url, trusted)

    async def _show_certificate(self) -> None:
        """Before the first call of all others, so that none is made without it."""
        try:
            await self._certificate.show()
        except ControlError as error:
            logger.warning("%s", error)

    async def _keep_certificate(self) -> None:
        await self._certificate.show()
        await asyncio.sleep(LOOK_S)

    async def _start_when_alone(self) -> None:
        await asyncio.sleep(ALONE_AFTER_S)
        await self._fleet.wake()

    async def _forever(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat `step`; an unreachable control plane slows it down and never ends it."""
        delays = Backoff(first_s=0.25, limit_s=5.0)
        while True:
            try:
                await step()
                delays.reset()
            except CredentialRefused as error:
                logger.error("%s. Replicas go on serving; join again with a new token.", error)
                await asyncio.sleep(30)
            except ControlError as error:
                logger.warning("%s", error)
                await asyncio.sleep(delays.next())
            except Exception:
                logger.exception("In %s", step.__name__)
                await asyncio.sleep(delays.next())

    async def _converge(self) -> None:
        desired = await self._client.desired()
        self._poll_s = desired.poll_interval_s
        self._sample_every(desired.sample_interval_s)
        if not self._orphans_ended:
            # why only now: they serve until something else can
            await self._fleet.end_orphans()
            self._orphans_ended = True
        self._fleet.apply(desired)
        self._loads.apply(desired)
        # why so rarely: each answer to a report or to samples names the generation, too
        flows = self._flows.is_set()
        rest_s = max(self._poll_s, RESTING_POLL_S) if flows else self._poll_s
        await self._until_next_poll.take(rest_s)

    async def _listen_for_wake_ups(self) -> None:
        delays = Backoff(first_s=1.0, limit_s=30.0)
        await wake_up.listen(self._client, self._woken.set, delays, self._flows)

    async def _report(self) -> None:
        if await asyncio.to_thread(self._folder.lost):
            await asyncio.to_thread(self._restore_folder)
            self._upkeep.doubt()
        self._changed.clear()  # this report tells of it
        report = await asyncio.to_thread(self._make_report, self._fleet.generation)
        self._news.tell(report.replicas, self._host.states)
        reply = await self._client.report(report)
        self._fleet.reported(report.replicas)
        self._apply_reply(reply)
        for refusal in sorted(set(reply.refused) - self._refused):
            logger.warning("The control plane refused a value of this node's report: %s", refusal)
        self._refused = set(reply.refused)
        await asyncio.to_thread(self._write_contact)
        if await self._until_next_report.take(self._heartbeat_s):
            await self._news.pause(REPORT_GAP_S)

    def _restore_folder(self) -> None:
        """Somebody deleted it under us: what is known here is written again. Raises FolderTaken."""
        logger.error(
            "%s was deleted while the agent runs; it is made again. Replicas serve on; "
            "the lines that they print until their next start are lost.",
            self._folder.path,
        )
        self._folder.take()
        self._folder.keep_id(self._machine.folder_id)
        if self._node is not None:
            identity.write(self._settings.folder / "credential.json", self._node)
        self._certificate.restore()
        if self._authority_pem:
            self._authority.write_bytes(self._authority_pem)

    def _make_report(self, generation: int) -> NodeReport:
        observed = self._fleet.observed()
        described = self._machine.describe()
        on_gpus = memory_by_process() if described.gpus else {}
        replicas = with_memory(observed, on_gpus, known=self._sampling.taken_lately())
        return NodeReport(
            node=dataclasses.replace(described, heartbeat_interval_s=self._heartbeat_s),
            observed_generation=generation,
            replicas=replicas,
            sent_at=time.time(),
            loads=self._loads.observed(),
        )

    def _apply_reply(self, reply: ReportReply) -> None:
        self._poll_s = reply.poll_interval_s
        self._sample_every(reply.sample_interval_s)
        self._heartbeat_s = reply.heartbeat_interval_s
        self._sampling.traces.salt = reply.request_salt
        if reply.desired_generation > self._fleet.generation:
            self._woken.set()

    def _sample_every(self, seconds: float) -> None:
        if seconds < self._sample_s:
            self._sooner.set()
        self._sample_s = seconds

    async def _sample(self) -> None:
        began = time.monotonic()
        batch = await self._sampling.round()
        if batch is not None:
            self._apply_reply(await self._client.samples(batch))
        rest_s = self._sampling.rest_s(self._sample_s)
        self._rests = rest_s > self._sample_s
        await self._until_next_sample.take(max(0.05, rest_s - (time.monotonic() - began)))

    async def _end(self) -> None:
        await self._loads.close()
        if self._stop_replicas:
            await self._fleet.stop(longest_s=STOP_DRAIN_S)
        else:
            await self._fleet.leave()
        if self._node is not None:  # who never joined has nothing to say, and nobody to say it as
            await self._last_report()
        await self._sampling.close()
        if self._spans is not None:
            await self._spans.close()
        await self._client.close()

    async def _last_report(self) -> None:
        try:
            async with asyncio.timeout(LAST_REPORT_S):
                await self._client.report(self._make_report(self._fleet.generation))
        except (ControlError, TimeoutError) as error:
            logger.info("Left without a last report: %s", error)

    def _write_contact(self) -> None:
        """`agent.json` names this process; its time is when the control plane last heard us."""
        file = self._settings.folder / "agent.json"
        node_id = self._node.node_id if self._node else ""
        content = json.dumps({"pid": os.getpid(), "node_id": node_id})
        temporary = file.with_suffix(".new")
        temporary.write_text(content)
        temporary.replace(file)

    def _note_change(self) -> None:
        self._changed.set()
        self._news.heard(self._host.states)
        if self._rests:
            self._sooner.set()


async def run(settings: AgentSettings) -> None:
    """The agent until SIGINT (stop the replicas too) or SIGTERM (leave them running).

    Raises FolderTaken, CannotJoin, ControlPlaneUnknown, OSError.
    """
    folder = NodeFolder(settings.folder)
    folder.take()
    sandbox = prepared(
        settings.sandbox,
        home=settings.home,
        folder=settings.folder / "sandbox-probe",
        inherited=settings.inherited,
    )
    agent = Agent(settings, folder, sandbox)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: agent.request_stop(replicas=True))
    loop.add_signal_handler(signal.SIGTERM, lambda: agent.request_stop(replicas=False))
    await agent.run()
