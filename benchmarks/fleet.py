"""What a call of a node costs the control plane: by the request pool of agents, and by Django.

``python -m benchmarks.fleet`` starts the control plane's web process on a fresh database once in
each way, enrols a thousand nodes, and lets them report: one at a time, then at random moments at
the pace that a thousand nodes keep (ADR 0278). What to look at is the processor's time per call;
how long calls take depends on what else the machine does, which the two ways share by turns.
"""

import argparse
import asyncio
import dataclasses
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import aiohttp

from wire import codec
from wire.messages import NodeInfo, NodeReport

NODES: Final = 1000
WAYS: Final = {"plain Django": "django_application", "agents' request pool": "application"}
_MS_PER_TICK: Final = 1000 / os.sysconf("SC_CLK_TCK")
_START_S: Final = 60.0
_ENROL: Final = """
import dataclasses, json, sys
import django
django.setup()
from django.core.management import call_command
for alias in ("default", "metrics"):
    call_command("migrate", database=alias, verbosity=0)
from django.utils import timezone
from controlplane.nodes.models import Node
from controlplane.nodes.types import credential_new, secret_hash
from wire.messages import NodeInfo
rows, credentials, now = [], [], timezone.now()
for number in range(int(sys.argv[1])):
    key = f"{number:016x}"
    credentials.append(credential_new(key))
    rows.append(Node(
        id=key, name=f"node-{number}", credential_hash=secret_hash(credentials[-1]), cordoned=True,
        info=dataclasses.asdict(NodeInfo(f"node-{number}", "0")),
        last_seen_at=now, online_since=now,
    ))
Node.objects.bulk_create(rows)
json.dump(credentials, sys.stdout)
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """Of one call: processor time of the web process, and what callers waited."""

    cpu_ms: float
    p50_ms: float
    p99_ms: float


class Web:
    """The web process, and the nodes that call it."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, credentials: list[str]) -> None:
        self._process = process
        self._url = f"http://127.0.0.1:{port}/agent/v1/"
        self._credentials = credentials

    async def costs(self, calls: int, rates: list[float]) -> dict[str, Cost]:
        """One at a time, then at each rate of calls per second."""
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(self._url, connector=connector) as session:
            await self._ready(session)
            for number in range(50):
                await self._report(session, number)
            before = self._cpu_ms()
            took = [await self._report(session, number % NODES) for number in range(calls)]
            found = {"one at a time": self._cost(took, before)}
            for rate in rates:
                before = self._cpu_ms()
                tasks = []
                for number in range(calls):
                    tasks.append(asyncio.create_task(self._report(session, number % NODES)))
                    await asyncio.sleep(random.expovariate(rate))
                found[f"{rate:.0f} a second"] = self._cost(await asyncio.gather(*tasks), before)
        return found

    async def _ready(self, session: aiohttp.ClientSession) -> None:
        until = time.monotonic() + _START_S
        while True:
            try:
                await self._report(session, 0)
            except aiohttp.ClientConnectionError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise
                await asyncio.sleep(0.1)
            else:
                return

    async def _report(self, session: aiohttp.ClientSession, number: int) -> float:
        report = NodeReport(NodeInfo(f"node-{number}", "0"), 0, sent_at=time.time())
        headers = {"Authorization": f"Bearer {self._credentials[number]}"}
        began = time.monotonic()
        async with session.post("report", data=codec.encode(report), headers=headers) as answer:
            content = await answer.read()
        if answer.status != 200:
            raise RuntimeError(f"A report was answered with {answer.status}: {content!r}")
        return time.monotonic() - began

    def _cost(self, took: list[float], before_ms: float) -> Cost:
        cuts = statistics.quantiles(took, n=100)
        cpu_ms = (self._cpu_ms() - before_ms) / len(took)
        return Cost(cpu_ms, cuts[49] * 1000, cuts[98] * 1000)

    def _cpu_ms(self) -> float:
        # the name of the program, in brackets, may hold spaces
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _MS_PER_TICK


@contextmanager
def serving(application: str) -> Iterator[Web]:
    """A web process with a database and a thousand nodes of its own."""
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as home:
        (Path(home) / "db").mkdir()
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
            "SHOAL_HOME": home,
            "SHOAL_SECRET_KEY": "benchmark-" + "x" * 50,
            "SHOAL_GATEWAY_TOKEN": "benchmark",
            "SHOAL_REDIS_URL": "redis://127.0.0.1:1/0",  # nobody's: reports need none
        }
        command = [sys.executable, "-c", _ENROL, str(NODES)]
        enrolled = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            target = f"controlplane.config.asgi:{application}"
            command = [
                sys.executable, "-m", "uvicorn", target, "--fd", str(listening.fileno()),
                "--no-access-log", "--log-level", "error",
            ]  # fmt: skip
            process = subprocess.Popen(
                command, env=environment, pass_fds=(listening.fileno(),), stderr=subprocess.DEVNULL
            )
            port = listening.getsockname()[1]
        try:
            yield Web(process, port, json.loads(enrolled.stdout))
        finally:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--calls", type=int, default=600, help="calls per figure")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each way")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, {NODES} nodes")
    print(f"{'way':14}{'calls':16}{'CPU ms':>8}{'p50 ms':>8}{'p99 ms':>8}")
    for _ in range(options.rounds):
        for way, application in WAYS.items():
            with serving(application) as web:
                for calls, cost in asyncio.run(web.costs(options.calls, [70.0, 100.0])).items():
                    figures = f"{cost.cpu_ms:8.2f}{cost.p50_ms:8.1f}{cost.p99_ms:8.1f}"
                    print(f"{way:14}{calls:16}{figures}", flush=True)


if __name__ == "__main__":
    main()
