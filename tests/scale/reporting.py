"""Reports alone: ``python -m tests.scale.reporting``, CPU of the agents' port for one report.

One process answers through the port's own application, without TLS and without anybody else:
SQLite, or what ``deploy/with_postgres.py`` gives.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.scale import placing, seeding
from tests.scale.figures import quantile
from tests.support import reaper
from tests.support.installation import ROOT, Installation

# The first round tells that all replicas are ready, which moves their operations on. In those
# behind it every node says what it said before, as nearly all reports do.
REPORTING = """
import asyncio, json, sys, time
import django
from controlplane.config import agent_server
agent_server.slim()
from django.db import connections
from controlplane.config.http_application import http_application
from controlplane.deployments.models import Replica
from controlplane.nodes.models import Node
from tests.scale.seeding import boot_id
from wire import codec
from wire.messages import GpuInfo, NodeInfo, NodeReport, ObservedReplica

rounds, gpus = int(sys.argv[1]), int(sys.argv[2])
cards = tuple(GpuInfo(card, f"GPU-{card}", "H100", 80 * 10**9, 0, 0.1, 40.0, 100.0)
              for card in range(gpus))
credentials = json.loads(sys.stdin.read())
running = {}
for number, row in enumerate(Replica.objects.all()):
    ready = ObservedReplica(row.pk, row.generation, "ready", "127.0.0.1", 10_000 + 3 * number,
                            10_001 + 3 * number, 10_002 + 3 * number)
    running.setdefault(row.node_id, []).append(ready)
bodies = []
for node, credential in zip(Node.objects.order_by("pk"), credentials, strict=True):
    info = NodeInfo(name=node.name, agent_version="0", boot_id=boot_id(), address="127.0.0.1",
                    backends=("onnxruntime",), gpus=cards, cpu_count=64,
                    memory_total_bytes=2**38, disk_total_bytes=10**12, disk_free_bytes=10**11)
    report = NodeReport(info, node.desired_generation, tuple(running.get(node.pk, ())),
                        sent_at=time.time())
    bodies.append((credential, codec.encode(report)))
connections.close_all()
application = http_application()
took, statuses = [], set()

async def call(credential, body):
    scope = {
        "type": "http", "method": "POST", "path": "/agent/v1/report", "raw_path": b"", "scheme":
        "https", "query_string": b"", "headers": [
            (b"host", b"localhost"), (b"authorization", f"Bearer {credential}".encode()),
            (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 443), "root_path": "",
        "http_version": "1.1", "extensions": {},
    }
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}
    async def send(message):
        if "status" in message:
            statuses.add(message["status"])
    began = time.monotonic()
    await application(scope, receive, send)
    took.append(time.monotonic() - began)

async def rounds_of(times):
    for _ in range(times):
        for credential, body in bodies:
            await call(credential, body)

cpu = time.process_time()
asyncio.run(rounds_of(1))
news = (time.process_time() - cpu) / len(took)
took.clear()
cpu = time.process_time()
asyncio.run(rounds_of(rounds))
cpu = time.process_time() - cpu
print(json.dumps({
    "news": news, "cpu": cpu / len(took), "took": took, "statuses": sorted(statuses),
}))
"""


def measured(home: Path, options: argparse.Namespace) -> Any:
    made = Installation(home)
    try:
        made.prepare()
        credentials = _output(made, seeding.NODES, options.nodes).splitlines()[-1]
        _output(made, placing.AWAKE, options.gpus)
        _output(made, seeding.ROLL_OUT, options.endpoints, options.replicas)
        script = (REPORTING, options.rounds, options.gpus)
        return seeding.decoded(_output(made, *script, told=credentials))
    finally:
        made.stop()


def _output(made: Installation, script: str, *arguments: int, told: bytes = b"") -> bytes:
    command = seeding.command(script, *arguments)
    return subprocess.run(
        command, env=made.environment, cwd=ROOT, input=told, stdout=subprocess.PIPE, check=True
    ).stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scale.reporting", description=__doc__)
    parser.add_argument("--nodes", type=int, default=60)
    parser.add_argument("--gpus", type=int, default=8, help="of each node")
    parser.add_argument("--endpoints", type=int, default=60)
    parser.add_argument("--replicas", type=int, default=4, help="of each endpoint")
    parser.add_argument("--rounds", type=int, default=20, help="reports of each node")
    options = parser.parse_args()
    reaper.guard()
    with tempfile.TemporaryDirectory(prefix="shoal-reporting-") as folder:
        found = measured(Path(folder), options)
    if found["statuses"] != [200]:
        raise SystemExit(f"reports were answered with {found['statuses']}, expected 200 alone")
    cuts = " and ".join(f"{quantile(found['took'], share) * 1000:.1f}" for share in (0.5, 0.99))
    print(
        f"{len(found['took'])} reports of {options.nodes} nodes with {options.gpus} GPUs: "
        f"{found['cpu'] * 1000:.2f} ms of CPU each; p50 and p99 {cuts} ms; "
        f"{found['news'] * 1000:.0f} ms of CPU where all its replicas have become ready"
    )


if __name__ == "__main__":
    main()
