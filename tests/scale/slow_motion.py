"""One control plane, in one process, that grows: ``tests.scale.growth`` runs it in an installation.

Nodes speak one after the other, each as soon as the one before has its answer, so that what is
measured is the work and never the waiting. Prints one line of JSON for each size.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.db.backends.signals import connection_created  # noqa: E402
from django.utils import timezone  # noqa: E402
from rest_framework.test import APIClient  # noqa: E402

from controlplane.config.celery import BEAT_SCHEDULE, app, tasks_import  # noqa: E402
from controlplane.config.http_application import http_application  # noqa: E402
from controlplane.console import reads  # noqa: E402
from controlplane.core import fanout  # noqa: E402
from controlplane.deployments.models import (  # noqa: E402
    Deployment,
    Endpoint,
    EndpointKey,
    Replica,
)
from controlplane.deployments.selectors import routing_revision  # noqa: E402
from controlplane.deployments.services.keys import keys_create  # noqa: E402
from controlplane.deployments.spec import Spec  # noqa: E402
from controlplane.deployments.types import DeploymentState, EndpointState  # noqa: E402
from controlplane.gateway.snapshots import Snapshots  # noqa: E402
from controlplane.nodes.models import Node  # noqa: E402
from controlplane.nodes.types import credential_new, secret_hash  # noqa: E402
from controlplane.operations import services  # noqa: E402
from controlplane.operations.models import Operation  # noqa: E402
from tests.scale.seeding import boot_id  # noqa: E402
from tests.support.deployment_rows import deployment_add  # noqa: E402
from tests.support.registered_models import model_register  # noqa: E402
from tests.support.rows_read import RowsRead, counted  # noqa: E402
from wire import codec  # noqa: E402
from wire.messages import GpuInfo, NodeInfo, NodeReport, ObservedReplica  # noqa: E402
from wire.samples import ModelCounters, ReplicaSample, SampleBatch  # noqa: E402

GPUS: Final = 8
NODES_PER_ENDPOINT: Final = 2
REPLICAS_PER_ENDPOINT: Final = 4
HEARD: Final = 60  # nodes that speak at each size, spread over all of them
PLACED: Final = 10  # deployments at each size
LISTED: Final = ("endpoints", "nodes", "operations")
PEOPLE: Final = settings.ROOT_URLCONF
AGENTS: Final = "controlplane.config.agent_urls"
BATCH: Final = 500


@dataclass(slots=True)
class Cost:
    """Of one call: milliseconds of CPU, the median of several; statements and rows of one."""

    cpu_ms: float
    statements: int
    rows: int


class Counting:
    """Into ``read``, over all connections of all threads, while it is set."""

    def __init__(self) -> None:
        self.read: RowsRead | None = None
        connection_created.connect(self._begin)

    def _begin(self, connection: Any, **_: Any) -> None:
        if self._execute not in connection.execute_wrappers:  # it may be opened again
            connection.execute_wrappers.append(self._execute)

    def _execute(self, run: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if self.read is None:
            return run(sql, params, many, context)
        return counted(self.read)(run, sql, params, many, context)


counting = Counting()


def cost_of(calls: list[Callable[[], Any]]) -> Cost:
    """The first call warms up, the last is counted and not timed."""
    first, *timed, last = calls
    first()
    took = []
    for call in timed:
        began = time.process_time()
        call()
        took.append(time.process_time() - began)
    counting.read = read = RowsRead()
    last()
    counting.read = None
    return Cost(1000 * statistics.median(took), read.queries, read.rows)


class Fleet:
    def __init__(self, token: str) -> None:
        self.credentials: list[str] = []
        self._people = APIClient()
        self._headers = {"HTTP_AUTHORIZATION": f"Bearer {token}", "HTTP_HOST": "127.0.0.1"}
        self._runner = asyncio.Runner()
        self._agents = http_application()
        version = model_register()
        first = Endpoint.objects.create(name="template", created_by="scale")
        row = deployment_add(first, version, provisioning_state=DeploymentState.SUCCEEDED)
        self._revision_id = row.revision_id
        self._deployed = 0

    def grow(self, size: int) -> None:
        """More nodes, with two replicas each, all of them ready and all of it reported."""
        began = len(self.credentials)
        now = timezone.now()
        rows = []
        for number in range(began, size):
            key = f"{number:016x}"
            self.credentials.append(credential_new(key))
            told = codec.as_data(self._info(number))
            rows.append(
                Node(
                    id=key, name=f"node-{number:05}", credential_hash=secret_hash(
                        self.credentials[-1]
                    ),
                    info={**told, "address_refused": "", "refused": [], "told": {}},
                    last_seen_at=now, online_since=now,
                )
            )  # fmt: skip
        Node.objects.bulk_create(rows, batch_size=BATCH)
        self._serve(began // NODES_PER_ENDPOINT, size // NODES_PER_ENDPOINT)
        self.heard()

    def _serve(self, began: int, ended: int) -> None:
        made = Endpoint.objects.bulk_create(
            [
                Endpoint(
                    name=f"served-{number:05}", traffic={"blue": 100}, created_by="scale",
                    generation=1, confirmed_generation=1,
                    provisioning_state=EndpointState.SUCCEEDED,
                )
                for number in range(began, ended)
            ],
            batch_size=BATCH,
        )  # fmt: skip
        keys_create(made[0])
        pattern = list(EndpointKey.objects.filter(endpoint=made[0]))
        EndpointKey.objects.bulk_create(
            [
                EndpointKey(
                    endpoint=endpoint, slot=key.slot, sha256=key.sha256, sealed=key.sealed,
                    prefix=key.prefix,
                )
                for endpoint in made[1:]
                for key in pattern
            ],
            batch_size=BATCH,
        )  # fmt: skip
        deployments = Deployment.objects.bulk_create(
            [
                Deployment(
                    endpoint=endpoint, name="blue", instance_count=REPLICAS_PER_ENDPOINT,
                    revision_id=self._revision_id, provisioning_state=DeploymentState.SUCCEEDED,
                )
                for endpoint in made
            ],
            batch_size=BATCH,
        )  # fmt: skip
        rows = []
        for number, deployment in enumerate(deployments, began):
            for ordinal in range(REPLICAS_PER_ENDPOINT):
                node = NODES_PER_ENDPOINT * number + ordinal % NODES_PER_ENDPOINT
                key = self._replica(node, ordinal // NODES_PER_ENDPOINT)
                rows.append(
                    Replica(
                        id=key, deployment=deployment, revision_id=self._revision_id,
                        ordinal=ordinal, node_id=f"{node:016x}", state="ready",
                        observed=codec.as_data(self._ready(node, ordinal // NODES_PER_ENDPOINT)),
                    )
                )  # fmt: skip
        Replica.objects.bulk_create(rows, batch_size=BATCH)

    def heard(self) -> None:
        """All nodes are online: nobody waits until each of so many has spoken."""
        Node.objects.update(last_seen_at=timezone.now())

    def measured(self) -> dict[str, Any]:
        size = len(self.credentials)
        some = [number * size // HEARD for number in range(HEARD)]
        settings.ROOT_URLCONF = AGENTS
        costs = {
            "report": cost_of([lambda n=n: self._report(n) for n in some]),
            "samples": cost_of([lambda n=n: self._sample(n) for n in some]),
            "desired": cost_of([lambda n=n: self._call("GET", "desired", n) for n in some]),
        }
        ids = [self._replica(number, place) for number in some for place in range(2)]
        Replica.objects.filter(pk__in=ids).update(state="loading", observed={})
        costs["ready"] = cost_of([lambda n=n: self._report(n) for n in some])
        Endpoint.objects.update(generation=1, confirmed_generation=1)
        settings.ROOT_URLCONF = PEOPLE
        self.heard()
        costs["deploy"] = cost_of([self._deploy] * PLACED)
        self._forget_deployed()
        jobs = {name: self._job(name) for name in BEAT_SCHEDULE}
        self.heard()
        costs["overview"] = cost_of([lambda: reads.overview_state(people=True)] * 4)
        frame = json.dumps(reads.overview_state(people=True), default=str)
        for path in LISTED:
            costs[f"list of {path}"] = cost_of([lambda p=path: self._list(p)] * 5)
        kept = Snapshots()
        costs["snapshot"] = cost_of([lambda: None, Snapshots().newest, kept.newest])
        costs["snapshot unchanged"] = cost_of([routing_revision] * 6)  # all that is done then
        return {
            "nodes": size,
            "costs": {name: [c.cpu_ms, c.statements, c.rows] for name, c in costs.items()},
            "jobs": jobs,
            "overview_kb": len(frame) / 1000,
            "snapshot_kb": len(kept.newest().content) / 1000,
        }

    def _job(self, name: str) -> list[float]:
        """Seconds between two, milliseconds of CPU, rows."""
        entry = BEAT_SCHEDULE[name]
        run = app.tasks[entry["task"]]
        cost = cost_of([lambda: run(**entry["kwargs"])] * 3)
        return [entry["schedule"], cost.cpu_ms, cost.rows]

    def _report(self, number: int) -> None:
        replicas = tuple(self._ready(number, place) for place in range(2))
        report = NodeReport(self._info(number), 0, replicas, sent_at=time.time())
        self._call("POST", "report", number, report)

    def _sample(self, number: int) -> None:
        name = f"served-{number // NODES_PER_ENDPOINT:05}"
        counters = (ModelCounters("digits", "1", inference_count=time.time_ns() // 10**6),)
        samples = tuple(
            ReplicaSample(self._replica(number, place), name, "blue", time.time(), counters)
            for place in range(2)
        )
        self._call("POST", "samples", number, SampleBatch(samples, self._info(number)))

    def _list(self, path: str) -> None:
        answer = self._people.get(f"/api/v1/{path}?limit=50", **self._headers)
        if answer.status_code != 200:
            raise RuntimeError(f"{path}: {answer.status_code} {answer.content[:300]!r}")

    def _deploy(self) -> None:
        self._deployed += 1
        services.deploy(
            spec=Spec(model="digits", instance_count=REPLICAS_PER_ENDPOINT),
            endpoint=f"placed-{self._deployed}", deployment="", actor="scale", now=timezone.now(),
        )  # fmt: skip

    def _forget_deployed(self) -> None:
        """The fleet is at rest again."""
        Operation.objects.update(state="Succeeded", finished_at=timezone.now())
        Replica.objects.filter(deployment__endpoint__name__startswith="placed-").delete()
        rows = Endpoint.objects.filter(name__startswith="placed-")
        Deployment.objects.filter(endpoint__in=rows).delete()
        rows.delete()
        Node.objects.update(desired_generation=0)

    def _replica(self, node: int, place: int) -> str:
        return f"{2 * node + place:016x}"

    def _ready(self, node: int, place: int) -> ObservedReplica:
        port = 10_000 + 3 * place
        return ObservedReplica(
            self._replica(node, place), 1, "ready", _address(node), port, port + 1, port + 2
        )

    def _info(self, number: int) -> NodeInfo:
        cards = tuple(
            GpuInfo(card, f"GPU-{number}-{card}", "H100", 80 * 10**9, 0, 0.1, 40.0, 100.0)
            for card in range(GPUS)
        )
        return NodeInfo(
            name=f"node-{number:05}", agent_version="0", boot_id=f"{boot_id()}-{number}",
            address=_address(number), backends=("onnxruntime",), gpus=cards, cpu_count=64,
            memory_total_bytes=2**38, disk_total_bytes=10**12, disk_free_bytes=10**11,
        )  # fmt: skip

    def _call(self, method: str, path: str, number: int, body: Any = None) -> None:
        content = b"" if body is None else codec.encode(body)
        self._runner.run(self._answered(method, path, self.credentials[number], content))

    def _answered(
        self, method: str, path: str, credential: str, body: bytes
    ) -> Coroutine[Any, Any, None]:
        headers = [
            (b"host", b"localhost"), (b"authorization", f"Bearer {credential}".encode()),
            (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()),
        ]  # fmt: skip
        scope = {
            "type": "http", "method": method, "path": f"/agent/v1/{path}", "raw_path": b"",
            "scheme": "https", "query_string": b"", "headers": headers, "root_path": "",
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 443), "http_version": "1.1",
            "extensions": {},
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        status = 0

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            if status not in (200, 304) and "body" in message:
                raise RuntimeError(f"{method} {path}: {status} {message['body'][:300]!r}")

        return self._agents(scope, receive, send)  # type: ignore[return-value]


def _address(node: int) -> str:
    return f"10.{node >> 16 & 255}.{node >> 8 & 255}.{node & 255}"


def main() -> None:
    fanout.keep_loop()
    tasks_import()
    fleet = Fleet(sys.argv[1])
    for size in map(int, sys.argv[2:]):
        fleet.grow(size)
        print(json.dumps(fleet.measured()), flush=True)


if __name__ == "__main__":
    main()
