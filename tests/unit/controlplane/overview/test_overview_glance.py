"""However large the installation is, its overview is small, and names what matters most."""

import json
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.console import reads
from controlplane.console.changes import change_of
from controlplane.console.frames import dump
from controlplane.core.models import Event
from controlplane.deployments.models import Autoscaler, Deployment, Endpoint, Replica
from controlplane.deployments.types import DeploymentState, ReplicaState
from controlplane.metrics.services import gateway_samples_ingest, samples_ingest
from controlplane.nodes.models import Node
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import stages_new
from controlplane.operations.services.operations import stage_data
from controlplane.operations.types import OperationKind
from controlplane.overview import selectors
from controlplane.overview.selectors import machine_totals, traffic_totals
from controlplane.registry.models import Model
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register
from tests.support.rows_read import rows_read
from wire.samples import (
    GatewaySample,
    GatewaySampleBatch,
    ModelCounters,
    ReplicaSample,
    SampleBatch,
)

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
NOW = timezone.now()  # of rows whose age does not matter
FRAME_BYTES = 30_000
CHANGE_BYTES = 5_000


def nodes_add(count: int, gpus: int, *, silent: int = 0) -> None:
    def info(number: int) -> dict[str, Any]:
        return {
            "backends": ["onnxruntime"], "address": "10.0.0.1", "cpu_utilization": 0.5,
            "memory_total_bytes": 2**40, "memory_used_bytes": 2**39,
            "disk_total_bytes": 10**13, "disk_free_bytes": 10**12 + number,
            "gpus": [
                {"index": card, "uuid": f"GPU-{number}-{card}", "name": "NVIDIA H100 80GB HBM3",
                 "memory_total_bytes": 80 * 10**9, "memory_used_bytes": 79_123_456_789 - number,
                 "utilization": 0.25, "temperature_c": 60.0, "power_w": 512.5,
                 "power_limit_w": 700.0, "driver_version": "550.54.15"}
                for card in range(gpus)
            ],
        }  # fmt: skip

    Node.objects.bulk_create(
        Node(
            id=f"{number:016x}",
            name=f"gpu-node-{number:04}.cluster.example",
            info=info(number),
            last_seen_at=timezone.now() - timedelta(seconds=900 if number < silent else 0),
            online_since=NOW,
        )
        for number in range(count)
    )


def endpoints_add(count: int, *, dead: int = 0) -> None:
    """With one deployment of two replicas each; in those that are dead none is ready."""
    version = model_register("recommendations-ranking")
    (node,) = Node.objects.order_by("name")[:1]
    first = Endpoint.objects.create(name="template", created_by="dora")
    row = deployment_add(first, version)
    rows = [
        Endpoint(name=f"recommendations-{number:05}", traffic={"blue": 100}, created_by="dora")
        for number in range(count)
    ]
    made = Endpoint.objects.bulk_create(rows)
    deployments = Deployment.objects.bulk_create(
        Deployment(
            endpoint=endpoint, name="blue", instance_count=2, revision_id=row.revision_id,
            provisioning_state=DeploymentState.SUCCEEDED,
        )
        for endpoint in made
    )  # fmt: skip
    Replica.objects.bulk_create(
        Replica(
            id=f"{number}-{ordinal}", deployment=deployment, revision_id=row.revision_id,
            ordinal=ordinal, node=node,
            state=ReplicaState.UNKNOWN if number < dead else ReplicaState.READY,
        )
        for number, deployment in enumerate(deployments)
        for ordinal in range(2)
    )  # fmt: skip


def people_did(count: int) -> None:
    """So many operations, and events about them."""
    kind = OperationKind.DEPLOY
    Operation.objects.bulk_create(
        Operation(
            id=f"{number:032x}", kind=kind, endpoint=f"recommendations-{number:05}",
            deployment="blue", stages=[stage_data(stage) for stage in stages_new(kind)],
            deadline_at=NOW, created_by="dora",
        )
        for number in range(count)
    )  # fmt: skip
    Event.objects.bulk_create(
        Event(
            actor="dora", verb="operation.started", subject=f"endpoint/recommendations-{number:05}",
            message=f"dora started: deploy recommendations-{number:05}/blue",
            data={"operation": f"{number:032x}", "kind": "deploy", "deployment": "blue"},
        )
        for number in range(count)
    )  # fmt: skip


def frame() -> dict[str, Any]:
    return reads.overview_state(people=True)


def test_a_frame_of_a_large_installation_is_small() -> None:
    nodes_add(1000, 8, silent=100)
    endpoints_add(5000, dead=200)
    people_did(30)
    # why: to make the rest took longer than a node may be silent, on a busy machine
    heard = timezone.now() - timedelta(seconds=600)
    Node.objects.filter(last_seen_at__gt=heard).update(last_seen_at=timezone.now())
    shown = frame()
    size = len(json.dumps(shown, default=str).encode())
    assert size <= FRAME_BYTES
    counts = shown["counts"]
    assert (counts["endpoints"], counts["nodes"], counts["nodes_online"]) == (5001, 1000, 900)
    assert (counts["replicas_ready"], counts["attention"]) == (9600, 300)
    assert shown["totals"]["gpus"] == 8000
    assert len(shown["attention"]) == selectors.MOST_ATTENTION
    # two seconds later all nodes that are shown have reported other figures, and one is back
    for node in Node.objects.filter(name__in=[each["name"] for each in shown["nodes"]]):
        for card in node.info["gpus"]:
            card["memory_used_bytes"] += 10**9
        node.save()
    Node.objects.filter(pk=node.pk).update(last_seen_at=timezone.now())
    change = change_of(*(json.loads(dump(each)) for each in (shown, frame())))
    changed = len(dump(change).encode())
    assert 0 < changed <= CHANGE_BYTES
    sys.stdout.write(  # for `make ui-budgets`, which runs this test
        f"overview of 1,000 nodes, 8,000 GPUs, 5,000 endpoints: a frame {size / 1000:.1f} kB of "
        f"{FRAME_BYTES / 1000:g} kB, a change {changed / 1000:.1f} of {CHANGE_BYTES / 1000:g} kB\n"
    )


def test_of_many_those_in_trouble_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes_add(4, 0, silent=1)
    Node.objects.filter(name__startswith="gpu-node-0002").update(
        info={"memory_total_bytes": 100, "memory_used_bytes": 99}
    )
    endpoints_add(4)
    Replica.objects.filter(deployment__endpoint__name="recommendations-00003").update(
        state=ReplicaState.FAILED
    )
    monkeypatch.setattr(selectors, "MOST_NODES", 2)
    monkeypatch.setattr(selectors, "MOST_ENDPOINTS", 2)
    shown = frame()
    assert [node["name"][:13] for node in shown["nodes"]] == ["gpu-node-0000", "gpu-node-0002"]
    assert [node["state"] for node in shown["nodes"]] == ["offline", "online"]
    first, last = shown["endpoints"]
    assert (first["name"], first["serving_state"]) == ("recommendations-00000", "Healthy")
    assert (last["name"], last["serving_state"]) == ("recommendations-00003", "Unavailable")
    assert first["models"] == [{"name": "recommendations-ranking", "version": 1}]


def test_of_many_the_busiest_are_those_that_callers_ask_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One whose replica a load sweep keeps at work is asked by nobody."""
    nodes_add(1, 0)
    endpoints_add(3)
    swept, called, quiet = (f"recommendations-{number:05}" for number in range(3))
    now = time.time()
    for name, done in ((swept, 9000.0), (called, 60.0), (quiet, 1.0)):
        for at, count in ((now - 3, 0.0), (now - 1, done)):
            counters = ModelCounters("recommendations-ranking", "1", request_success=count)
            sample = ReplicaSample(name, name, "blue", at, models=(counters,), memory_bytes=1)
            batch = SampleBatch((sample,))
            samples_ingest(node_id="n", node="n", batch=batch)
    seen = GatewaySample(called, "blue", now - 1, 2.0, 20, {"2xx": 15, "5xx": 5}, {"40": 20})
    gateway_samples_ingest(GatewaySampleBatch((seen,)), "east")
    monkeypatch.setattr(selectors, "MOST_ENDPOINTS", 1)
    shown = frame()
    (first,) = shown["endpoints"]
    assert first["name"] == called
    assert (first["live"]["answer_rate"], first["live"]["error_rate"]) == (pytest.approx(10), 0.25)
    totals = {name: shown["totals"][name] for name in ("answer_rate", "error_rate")}
    assert totals == {"answer_rate": pytest.approx(10), "error_rate": pytest.approx(0.25)}
    assert shown["totals"]["slowest"]["endpoint"] == called
    monkeypatch.setattr(selectors, "MOST_ENDPOINTS", 4)
    rates = {row["name"]: row["live"]["answer_rate"] for row in frame()["endpoints"]}
    assert (rates[swept], rates[quiet], rates["template"]) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("by", "policy", "told"),
    [
        ("OutOfCapacity", True, True),
        ("LastChangeFailed", True, True),
        ("ProjectQuotaExceeded", True, True),
        ("OperationInProgress", True, False),  # that passes
        ("OutOfCapacity", False, False),  # of a policy that somebody has taken away since
    ],
)
def test_scaling_that_stands_still_wants_attention(by: str, policy: bool, told: bool) -> None:
    row = deployment_add(Endpoint.objects.create(name="digits"), model_register(), "blue")
    row.autoscale = {"enabled": True, "min": 1, "max": 5} if policy else None
    row.save()
    why = "No node can take 1 of 5 replicas."
    Autoscaler.objects.create(deployment=row, decision={"blocked": why, "blocked_by": by})
    found = [one for one in frame()["attention"] if "autoscaled" in one["title"]]
    assert [(one["severity"], one["detail"]) for one in found] == [("warning", why)] * told
    assert [(one["title"], one["link"]) for one in found] == [
        ("digits/blue is not autoscaled as it should be", "/endpoints/digits")
    ] * told


def test_it_reads_the_same_columns_whatever_runs() -> None:
    nodes_add(2, 2)
    endpoints_add(3)
    with rows_read("default", "metrics") as few:
        frame()
    more = Endpoint.objects.bulk_create(
        Endpoint(name=f"z-{number}", created_by="dora") for number in range(50)
    )
    with rows_read("default", "metrics") as many:
        frame()
    assert many.queries == few.queries
    assert many.rows - few.rows == len(more)


def test_what_every_page_counts_are_three_numbers_and_no_rows(viewer_api: APIClient) -> None:
    nodes_add(3, 0)
    endpoints_add(2)
    model_register("old")
    Model.objects.filter(name="old").update(archived=True)
    with rows_read("default", "metrics") as read:
        shown = viewer_api.get("/api/v1/overview/counts").json()
    assert shown == {"endpoints": 3, "models": 1, "nodes": 3}
    assert (read.queries, read.rows) == (5, 4)  # two look for who asks, and find one


def row(rate: float | None, p95: float | None, errors: float | None) -> dict[str, float | None]:
    return {"answer_rate": rate, "p95_us": p95, "error_rate": errors}


def test_requests_add_up_errors_are_weighed_and_the_slowest_is_named() -> None:
    live = {"a": row(90, 1000, 0), "b": row(10, 5000, 0.5), "c": row(None, None, None)}
    assert traffic_totals(live) == {
        "answer_rate": 100, "error_rate": 0.05, "slowest": {"endpoint": "b", "p95_us": 5000},
    }  # fmt: skip
    unhappy = {"a": row(30, 1000, 0), "dead": row(10, None, 1.0), "uncalled": row(0, None, None)}
    assert traffic_totals(unhappy) == {
        "answer_rate": 40, "error_rate": 0.25, "slowest": {"endpoint": "a", "p95_us": 1000},
    }  # fmt: skip
    assert traffic_totals({"uncalled": row(0, None, None)})["answer_rate"] == 0
    unknown = {"answer_rate": None, "error_rate": None, "slowest": None}
    assert traffic_totals({"c": row(None, None, None)}) == traffic_totals({}) == unknown


def machine(
    name: str, free: int, busy: Sequence[float | None], state: str = "online"
) -> tuple[Node, str]:
    gpus = [{"name": "A10", "memory_total_bytes": 10, "utilization": each} for each in busy]
    info = {"cpu_utilization": 0.2, "disk_free_bytes": free, "disk_total_bytes": 100, "gpus": gpus}
    return Node(name=name, info=info), state


def test_gpus_that_report_are_averaged_and_the_fullest_disk_is_named() -> None:
    nodes = [machine("a", 50, [1, 0.5]), machine("b", 5, []), machine("c", 1, [0], "offline")]
    found = machine_totals(nodes)
    assert (found["utilization"], found["gpus_online"], found["gpus"]) == (0.75, 2, 3)
    assert (found["gpu_name"], found["gpu_memory_bytes"]) == ("A10", 30)
    assert found["least_disk"] == {"node": "b", "free_bytes": 5, "total_bytes": 100}
    assert machine_totals([machine("a", 50, [])])["utilization"] == 0.2
    assert machine_totals([machine("a", 50, [None, 0.5])])["utilization"] == 0.5
    assert machine_totals([machine("a", 50, [None])])["utilization"] is None
    assert machine_totals([])["least_disk"] is None
