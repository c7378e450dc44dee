"""A thousand nodes that report at the pace which the control plane asks of them."""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import time

import httpx

from tests.chaos.studio import until
from tests.chaos.system import System
from tests.chaos.table import Case
from tests.e2e.product import ROOT
from wire import codec
from wire.messages import DesiredState, NodeInfo, NodeReport, ReportReply

NODES = 1000
MEASURED_S = 30.0
LATE_S = 10.0  # no answer may take so long, however busy the machine is
ENROL = """
import dataclasses, json, sys
import django
django.setup()
from django.utils import timezone
from controlplane.nodes.models import Node
from controlplane.nodes.types import credential_new, secret_hash
from wire.messages import NodeInfo
rows, credentials = [], []
for number in range({count}):
    key = f"{{number:016x}}"
    clear = credential_new(key)
    credentials.append(clear)
    info = NodeInfo(name=f"sim-{{number}}", agent_version="0.1.0", heartbeat_interval_s=15)
    rows.append(Node(
        id=key, name=info.name, credential_hash=secret_hash(clear), cordoned=True,
        info=dataclasses.asdict(info), last_seen_at=timezone.now(), online_since=timezone.now(),
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
    environment = system.child("uvicorn").environ()
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


class Fleet:
    """What every node does: report, and ask what to run, when it was told to."""

    def __init__(self, url: str, credentials: list[str]) -> None:
        self.url = url
        self.credentials = credentials
        self.latencies: list[float] = []
        self.failures: list[str] = []

    async def run(self, seconds: float) -> None:
        limits = httpx.Limits(max_connections=100, keepalive_expiry=2)
        async with httpx.AsyncClient(
            base_url=f"{self.url}/agent/v1/", limits=limits, trust_env=False, timeout=30
        ) as client:
            end = time.monotonic() + seconds
            await asyncio.gather(
                *(self._live(client, i, c, end) for i, c in enumerate(self.credentials))
            )

    async def _live(
        self, client: httpx.AsyncClient, number: int, credential: str, end: float
    ) -> None:
        headers = {"Authorization": f"Bearer {credential}"}
        pace, poll = 15.0, 66.0
        await asyncio.sleep(random.uniform(0, pace))
        polled = time.monotonic() - random.uniform(0, poll)
        while time.monotonic() < end:
            report = NodeReport(
                NodeInfo(name=f"sim-{number}", agent_version="0.1.0", heartbeat_interval_s=pace),
                observed_generation=0,
                sent_at=time.time(),
            )
            content = await self._call(client, "POST", "report", headers, codec.encode(report))
            if content is not None:
                pace = codec.decode(ReportReply, content).heartbeat_interval_s
            if time.monotonic() - polled > poll:
                polled = time.monotonic()
                content = await self._call(client, "GET", "desired", headers)
                if content is not None:
                    poll = codec.decode(DesiredState, content).poll_interval_s
            await asyncio.sleep(pace)

    async def _call(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> bytes | None:
        began = time.monotonic()
        try:
            answer = await client.request(method, path, headers=headers, content=body)
        except httpx.HTTPError as error:
            self.failures.append(repr(error))
            return None
        self.latencies.append(time.monotonic() - began)
        if answer.status_code != 200:
            self.failures.append(f"{path}: {answer.status_code}")
            return None
        return answer.content


def test_a_thousand_nodes_report(system: System, pair: dict[str, str], case: Case) -> None:
    """1000 nodes heartbeat, while something is deployed."""
    studio = system.studio
    system.endpoint("amid", node_labels=pair)
    credentials = json.loads(manage(system, ENROL.format(count=NODES)))
    fleet = Fleet(system.product.url, credentials)
    try:
        with case.under(system.load("amid")) as load:
            asyncio.run(fleet.run(MEASURED_S))
            operation = studio.deploy("amid-b", "tiny", node_labels=pair)
            studio.succeeded(operation)
            load.more(40)
    finally:
        manage(system, FORGET)
    until(lambda: studio.patiently("/nodes/n1"), "REST answers")
    assert not fleet.failures, fleet.failures[:5]
    assert load.lost == 0, load.explain()
    # Every node reports once in its first pace and again after it.
    rate = len(fleet.latencies) / (MEASURED_S + 15)
    p99 = statistics.quantiles(fleet.latencies, n=100)[98]
    assert rate <= 100
    assert max(fleet.latencies) < LATE_S
    for name in ("amid", "amid-b"):
        studio.delete(name)
    case.saw(
        f"{rate:.0f} calls/s, p50 {statistics.median(fleet.latencies) * 1000:.0f} ms, "
        f"p99 {p99 * 1000:.0f} ms (promised: 100 a second, p99 200 ms)"
    )
