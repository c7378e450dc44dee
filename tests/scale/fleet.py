"""What agents of nodes and gateways say, without machines: one event loop, over the real port."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import aiohttp

from node_agent.rest import Rest
from tests.scale.seeding import boot_id
from wire import codec
from wire.messages import (
    DesiredState,
    GatewayReport,
    NodeInfo,
    NodeReport,
    ObservedReplica,
    ReportReply,
)
from wire.samples import GatewaySampleBatch, SampleBatch
from wire.wake_up import WAKE_UP

RAMP_S = 15.0  # machines are not switched on in one moment
RESTING_POLL_S = 30.0  # as agents have it while their stream is open
GATEWAY_POLL_S, GATEWAY_GAP_S, GATEWAY_CALL_S = 3.0, 0.25, 5.0
ANSWER_S = 30.0
PORTS = count(10_000)  # each replica's own, on an address that all nodes share


@dataclass
class Calls:
    """Answers of one kind: how long each took, in seconds, and what went wrong."""

    took: dict[str, list[float]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)

    def forget(self) -> None:
        self.took.clear()
        self.failed.clear()


class Caller:
    """One agent's connection to the port."""

    def __init__(self, session: aiohttp.ClientSession, token: str, calls: Calls) -> None:
        self._session = session
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._calls = calls

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> bytes | None:
        """What was answered; None for what failed, which is counted."""
        data = None if body is None else codec.encode(body)
        began = time.monotonic()
        try:
            async with self._session.request(
                method, path, headers=self._headers, data=data, params=query
            ) as answer:
                content = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            self._calls.failed[f"{path}: {type(error).__name__}"] += 1
            return None
        self._calls.took.setdefault(path, []).append(time.monotonic() - began)
        if answer.status not in (200, 304):
            self._calls.failed[f"{path}: {answer.status} {content[:200]!r}"] += 1
            return None
        return content

    async def wake_ups(self, path: str, woken: asyncio.Event) -> None:
        """Set ``woken`` at each, for ever."""
        timeout = aiohttp.ClientTimeout(total=None)
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with self._session.get(
                    path, headers=self._headers, timeout=timeout
                ) as answer:
                    async for line in answer.content:
                        if line == WAKE_UP:
                            woken.set()
            await asyncio.sleep(random.uniform(0.5, 1.5))


class SimulatedAgent:
    """A node whose replicas are ready as soon as it hears of them."""

    def __init__(self, number: int, caller: Caller) -> None:
        self._name = f"node-{number}"
        self._caller = caller
        self._woken, self._changed = asyncio.Event(), asyncio.Event()
        self._until_next_poll, self._until_next_report = Rest(self._woken), Rest(self._changed)
        self._replicas: dict[str, ObservedReplica] = {}
        self._generation = 0
        self._report_s, self._sample_s = 5.0, 2.0

    def loops(self) -> list[Coroutine[Any, Any, None]]:
        return [
            self._caller.wake_ups("wake-ups", self._woken),
            self._keep(self._report, 0.0),
            self._keep(self._fetch, 1.0),
            self._keep(self._sample, 2.0),
        ]

    async def _keep(self, step: Any, after_s: float) -> None:
        await asyncio.sleep(after_s + random.uniform(0, RAMP_S))
        while True:
            await step()

    async def _report(self) -> None:
        report = NodeReport(
            self._info(), self._generation, tuple(self._replicas.values()), sent_at=time.time()
        )
        self._told(await self._caller.call("POST", "report", report))
        await self._until_next_report.take(self._report_s)

    async def _sample(self) -> None:
        self._told(await self._caller.call("POST", "samples", SampleBatch((), self._info())))
        await asyncio.sleep(max(5.0, self._sample_s))  # idle ones rest

    async def _fetch(self) -> None:
        content = await self._caller.call("GET", "desired")
        if content is not None:
            desired = codec.decode(DesiredState, content)
            wanted = {replica.replica_id: replica for replica in desired.replicas}
            known = self._replicas
            self._replicas = {
                key: known[key]
                if key in known and known[key].generation == replica.generation
                else self._ready(key, replica.generation)
                for key, replica in wanted.items()
            }
            if self._replicas != known or desired.generation != self._generation:
                self._generation = desired.generation
                self._changed.set()
        await self._until_next_poll.take(RESTING_POLL_S)

    def _ready(self, key: str, generation: int) -> ObservedReplica:
        http, grpc, metrics = next(PORTS), next(PORTS), next(PORTS)
        return ObservedReplica(
            replica_id=key, generation=generation, state="ready", address="127.0.0.1",
            http_port=http, grpc_port=grpc, metrics_port=metrics,
        )  # fmt: skip

    def _told(self, content: bytes | None) -> None:
        if content is None:
            return
        reply = codec.decode(ReportReply, content)
        self._report_s, self._sample_s = reply.heartbeat_interval_s, reply.sample_interval_s
        if reply.desired_generation > self._generation:
            self._woken.set()

    def _info(self) -> NodeInfo:
        return NodeInfo(
            name=self._name, agent_version="0", boot_id=boot_id(), address="127.0.0.1",
            backends=("onnxruntime",), cpu_count=64, memory_total_bytes=2**38,
            disk_total_bytes=10**12, disk_free_bytes=10**11, heartbeat_interval_s=self._report_s,
        )  # fmt: skip


class SimulatedGateway:
    """One that has applied whatever it was given."""

    def __init__(self, name: str, caller: Caller) -> None:
        self.version = ""
        self.got_at = 0.0  # monotonic seconds
        self._name = name
        self._caller = caller
        self._woken = asyncio.Event()
        self._sampled_at = 0.0

    def loops(self) -> list[Coroutine[Any, Any, None]]:
        return [self._caller.wake_ups("gateway/wake-ups", self._woken), self._follow()]

    async def _follow(self) -> None:
        while True:
            content = await self._caller.call("GET", "gateway/snapshot", version=self.version)
            if content:
                # why not decoded: it is megabytes, and the machine is for others
                self.version = content[: content.index(b",")].decode().split('"')[3]
                self.got_at = time.monotonic()
            report = GatewayReport(self._name, self.version, sent_at=time.time(), healthy=True)
            await self._caller.call("POST", "gateway/report", report)
            if time.monotonic() - self._sampled_at > GATEWAY_CALL_S:
                self._sampled_at = time.monotonic()
                await self._caller.call("POST", "gateway/samples", GatewaySampleBatch(()))
            await asyncio.sleep(GATEWAY_GAP_S)
            await _wait(self._woken, GATEWAY_POLL_S)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    event.clear()


@contextlib.asynccontextmanager
async def running(loops: list[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Ends them behind it, and raises what ended one of them before."""
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
