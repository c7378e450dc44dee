"""A thousand nodes that report at the pace which the control plane asks of them."""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from tests.chaos.studio import Studio, until
from tests.chaos.system import System
from tests.chaos.table import Case
from tests.e2e.product import ROOT
from wire import codec
from wire.messages import DesiredState, NodeInfo, NodeReport, ReportReply
from wire.samples import SampleBatch

NODES = 1000
MOST_PER_S = 100  # calls of all nodes together
RAMP_S = 60.0  # machines are switched on one after another
MEASURED_S = 60.0  # after that; each node reports once at the least
FIRST_PACE_S = 15.0
FIRST_POLL_S = 66.0
# As agents have it. Where the control plane is slower than this, nodes fall silent.
ANSWER_S = 30.0
# Three quarters of the time for reports at the rarest pace that there is: slower is no pace at all.
SLOW_S = 0.75 * 60.0 / NODES
ENROL = """
import dataclasses, json, sys
import django
django.setup()
from django.utils import timezone
from controlplane.nodes.models import Node
from controlplane.nodes.types import credential_new, secret_hash
from wire.messages import NodeInfo
rows, credentials, now = [], [], timezone.now()
for number in range({count}):
    key = f"{{number:016x}}"
    clear = credential_new(key)
    credentials.append(clear)
    info = NodeInfo(name=f"sim-{{number}}", agent_version="0.1.0", heartbeat_interval_s=15)
    rows.append(Node(
        id=key, name=info.name, credential_hash=secret_hash(clear), cordoned=True,
        info=dataclasses.asdict(info), last_seen_at=now, online_since=now,
    ))
Node.objects.bulk_create(rows)
json.dump(credentials, sys.stdout)
"""
FORGET = """
import django
django.setup()
from controlplane.nodes.models import Node
Node.objects.filter(name__startswith="sim-").delete()
"""


def manage(system: System, script: str) -> bytes:
    environment = system.child("web_server").environ()
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@dataclass
class Intervals:
    """What the control plane asked one node to keep, in seconds between calls."""

    report_s: float = FIRST_PACE_S
    poll_s: float = FIRST_POLL_S
    sample_s: float = FIRST_POLL_S

    @property
    def calls_per_s(self) -> float:
        return 1 / self.report_s + 1 / self.poll_s + 1 / self.sample_s


@dataclass
class Fleet:
    """What every node does: report, fetch what to run, send samples; each at its interval.

    All in one thread with one event loop: a node is a few coroutines, the machine is for others.
    """

    url: str
    credentials: list[str]
    latencies: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    reports: Counter[int] = field(default_factory=Counter)  # by node, those that were answered

    def __post_init__(self) -> None:
        self.intervals = [Intervals() for _ in self.credentials]
        self._end = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> "Fleet":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @property
    def expected_calls_per_s(self) -> float:
        """Calls a second of all nodes together, if each keeps its intervals."""
        return sum(each.calls_per_s for each in self.intervals)

    def summary(self) -> str:
        """What callers met, and on what machine."""
        cuts = statistics.quantiles(self.latencies, n=100)
        return (
            f"{len(self.reports)} nodes reported, expected {self.expected_calls_per_s:.0f}/s; "
            f"{len(self.latencies)} answers: p50 {cuts[49] * 1000:.0f} ms, p99 "
            f"{cuts[98] * 1000:.0f} ms, longest {max(self.latencies) * 1000:.0f} ms; "
            f"failures {dict(self.failures)}; "
            f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        )

    async def answer_s(self, reports: int = 40) -> float:
        """How long a report takes when there is no other: the median."""
        async with aiohttp.ClientSession(f"{self.url}/agent/v1/") as session:
            for number in range(reports):
                body = codec.encode(NodeReport(NodeInfo(f"sim-{number}", "0"), 0))
                await self._call(session, number, "POST", "report", body)
        found = statistics.median(self.latencies)
        self.latencies.clear()
        return found

    async def _run(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=3)
        timeout = aiohttp.ClientTimeout(total=ANSWER_S)
        async with aiohttp.ClientSession(
            f"{self.url}/agent/v1/", connector=connector, timeout=timeout
        ) as session:
            nodes = [
                asyncio.create_task(step(session, number))
                for number in range(len(self.credentials))
                for step in (self._report, self._poll, self._sample)
            ]
            while not self._end.is_set():
                await asyncio.sleep(0.1)
            for task in nodes:
                task.cancel()
            ended = await asyncio.gather(*nodes, return_exceptions=True)
        for error in ended:
            if not isinstance(error, asyncio.CancelledError):
                self.failures[f"a node ended: {error!r}"] += 1

    async def _report(self, session: aiohttp.ClientSession, number: int) -> None:
        intervals = self.intervals[number]
        await asyncio.sleep(random.uniform(0, RAMP_S))
        while True:
            info = NodeInfo(
                name=f"sim-{number}", agent_version="0.1.0", heartbeat_interval_s=intervals.report_s
            )
            report = NodeReport(info, observed_generation=0, sent_at=time.time())
            content = await self._call(session, number, "POST", "report", codec.encode(report))
            if content is not None:
                self.reports[number] += 1
                self._apply_reply(intervals, codec.decode(ReportReply, content))
            await asyncio.sleep(intervals.report_s)

    async def _poll(self, session: aiohttp.ClientSession, number: int) -> None:
        intervals = self.intervals[number]
        await asyncio.sleep(random.uniform(0, RAMP_S + intervals.poll_s))
        while True:
            content = await self._call(session, number, "GET", "desired")
            if content is not None:
                intervals.poll_s = codec.decode(DesiredState, content).poll_interval_s
            await asyncio.sleep(intervals.poll_s)

    async def _sample(self, session: aiohttp.ClientSession, number: int) -> None:
        intervals = self.intervals[number]
        await asyncio.sleep(random.uniform(0, RAMP_S + intervals.sample_s))
        while True:
            info = NodeInfo(
                name=f"sim-{number}", agent_version="0.1.0", heartbeat_interval_s=intervals.report_s
            )
            batch = codec.encode(SampleBatch((), info))
            content = await self._call(session, number, "POST", "samples", batch)
            if content is not None:
                self._apply_reply(intervals, codec.decode(ReportReply, content))
            await asyncio.sleep(intervals.sample_s)

    @staticmethod
    def _apply_reply(intervals: Intervals, reply: ReportReply) -> None:
        intervals.report_s, intervals.poll_s = reply.heartbeat_interval_s, reply.poll_interval_s
        intervals.sample_s = reply.sample_interval_s

    async def _call(
        self,
        session: aiohttp.ClientSession,
        number: int,
        method: str,
        path: str,
        body: bytes | None = None,
    ) -> bytes | None:
        headers = {"Authorization": f"Bearer {self.credentials[number]}"}
        began = time.monotonic()
        try:
            async with session.request(method, path, headers=headers, data=body) as answer:
                content = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            self.failures[f"{path}: {type(error).__name__}"] += 1
            return None
        self.latencies.append(time.monotonic() - began)
        if answer.status != 200:
            self.failures[f"{path}: {answer.status}"] += 1
            return None
        return content


def test_a_thousand_nodes_report(system: System, pair: dict[str, str], case: Case) -> None:
    """1000 nodes heartbeat, while something is deployed."""
    studio = system.studio
    system.endpoint("amid", node_labels=pair)
    credentials = json.loads(manage(system, ENROL.format(count=NODES)))
    fleet = Fleet(system.product.url, credentials)
    if (answer_s := asyncio.run(fleet.answer_s())) > SLOW_S:
        manage(system, FORGET)
        pytest.skip(f"one report takes {answer_s * 1000:.0f} ms: the machine does other work")
    began = datetime.now(UTC)
    try:
        with case.under(system.load("amid", pause_s=0.5)) as load, fleet:
            until(lambda: len(fleet.reports) == NODES, "every node has reported", 3 * RAMP_S)
            start, before = time.monotonic(), len(fleet.latencies)
            operation = studio.deploy("amid-b", "tiny", node_labels=pair)
            deploying = time.monotonic()
            studio.succeeded(operation)
            took = time.monotonic() - deploying
            time.sleep(max(0.0, start + MEASURED_S - time.monotonic()))
            seconds, calls = time.monotonic() - start, len(fleet.latencies) - before
            nodes = simulated(studio)
            load.more(40)
    finally:
        case.saw(fleet.summary())
        manage(system, FORGET)
    until(lambda: studio.patiently("/nodes/n1"), "REST answers")
    assert not fleet.failures, fleet.failures
    assert load.lost == 0, load.explain()
    assert {node["state"] for node in nodes} == {"online"}
    assert len(nodes) == NODES
    assert all(datetime.fromisoformat(node["last_seen_at"]) > began for node in nodes)
    assert fleet.expected_calls_per_s <= MOST_PER_S
    for name in ("amid", "amid-b"):
        studio.delete(name)
    case.saw(f"all online, {calls / seconds:.0f} calls/s; deployed meanwhile in {took:.1f} s")


def simulated(studio: Studio) -> list[Any]:
    """The thousand, as REST shows them."""
    found: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = studio.get(f"/nodes?limit=500&cursor={cursor}")
        found += [node for node in page["items"] if node["name"].startswith("sim-")]
        cursor = page["next_cursor"]
    return found
