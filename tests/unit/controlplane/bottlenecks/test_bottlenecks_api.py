"""From what is stored of an endpoint to why it is slow, and who is told what."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Project, User
from controlplane.accounts.scope import within
from controlplane.bottlenecks import selectors
from controlplane.bottlenecks.facts import ModelSettings
from controlplane.bottlenecks.selectors import facts_of, settings_of
from controlplane.core.errors import Conflict
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors import endpoint_get
from controlplane.metrics.models import GatewaySample, NodeSample, ReplicaSample
from tests.support.deployment_rows import deployment_add
from tests.support.project_world import member
from tests.support.registered_models import model_register

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
SERVED = {
    "max_batch_size": 8,
    "instance_group": [{"kind": "KIND_CPU", "count": 1}],
}


def counters(model: str, requests: int, *, step: bool = False, **us: float) -> dict[str, Any]:
    """After so many requests, each of which took so long."""
    return {
        "model": model, "version": "1", "step": step, "instances": 1.0,
        "request_success": requests, "inference_count": requests, "exec_count": requests,
        **{name: each * requests for name, each in us.items()},
    }  # fmt: skip


def replica(at: float, requests: int, *, endpoint: str = "digits", **changes: Any) -> ReplicaSample:
    """10 ms in the model and 70 ms in its queue, 2 ms of 8 without a processor."""
    data = {
        "replica_id": f"r-{endpoint}", "endpoint": endpoint, "deployment": "blue", "at": at,
        "models": [
            counters(
                "digits", requests, request_duration_us=80_500.0, queue_duration_us=70_000.0,
                compute_infer_duration_us=10_000.0, busy_us=10_000.0,
            )
        ],
        "cpu_seconds": 0.008 * requests, "waited_s": 0.0005 * requests,
        "loop_looks": 50.0 * requests, "loop_late_s": 0.05 * requests, **changes,
    }  # fmt: skip
    return ReplicaSample(
        endpoint=endpoint, deployment="blue", replica_id=data["replica_id"], node="n1", at=at,
        data=data,
    )  # fmt: skip


def answered(at: float, requests: int, deployment: str = "blue") -> GatewaySample:
    data = {
        "deployment": deployment, "requests": requests, "timed": requests, "histogram": {},
        "total_us": 81_000.0 * requests, "receive_us": 100.0 * requests,
        "send_us": 50.0 * requests, "request_bytes": 2000 * requests,
        "response_bytes": 500 * requests, "new_connections": 1, "json_requests": 0,
    }  # fmt: skip
    return GatewaySample(endpoint="digits", deployment=deployment, at=at, data=data)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> float:
    """An endpoint under load, and another one beside it on the node n1. Returns the time."""
    now = time.time()
    version = model_register("digits")
    for name in ("digits", "ranking"):
        endpoint = Endpoint.objects.create(name=name, created_by="dora", traffic={"blue": 100})
        deployment_add(endpoint, version)
    times = [now - 2 * index for index in reversed(range(8))]
    ReplicaSample.objects.bulk_create(
        replica(at, 180 * number, endpoint=name)
        for number, at in enumerate(times)
        for name in ("digits", "ranking")
    )
    GatewaySample.objects.bulk_create([answered(at, 180) for at in times[1:]])
    info = {"cpu_count": 4, "cpu_utilization": 0.6, "gpus": []}
    NodeSample.objects.bulk_create(
        NodeSample(node_id="1", node="n1", at=at, data=info) for at in times
    )
    monkeypatch.setattr(selectors, "config_served", lambda _deployment, _model: SERVED)
    return now


def test_what_was_measured_becomes_facts(loaded: float) -> None:
    facts = facts_of(endpoint_get("digits"), "", 60.0, loaded)
    assert facts is not None
    assert (facts.deployment, facts.requests, facts.replicas) == ("blue", 1260, 1)
    assert (facts.total_us, facts.receive_us, facts.send_us) == (81_000.0, 100.0, 50.0)
    assert facts.new_connections == pytest.approx(7 / 1260)
    assert facts.late_us == pytest.approx(1000.0)
    assert facts.waited_us == pytest.approx(500.0)
    (model,) = facts.models
    assert model.settings == ModelSettings(max_batch_size=8)
    assert (model.share, model.queue_us, model.infer_us) == (1.0, 70_000.0, 10_000.0)
    assert model.busy == pytest.approx(0.9)
    (node,) = facts.nodes
    assert (node.processors, node.cpu) == (4, pytest.approx(0.6))
    assert node.own == pytest.approx(0.72)
    assert dict(node.others) == pytest.approx({"ranking": 0.72, "other programs": 0.96})


def test_it_is_answered(loaded: float, viewer_api: APIClient) -> None:
    del loaded
    answer = viewer_api.get("/api/v1/endpoints/digits/bottlenecks")
    assert answer.status_code == 200, answer.json()
    body = answer.json()
    assert body["summary"].endswith("86 % of it since requests are computed one by one.")
    assert [one["code"] for one in body["findings"]] == ["no_batching", "few_instances", "model"]
    assert body["findings"][0]["where"] == "digits"
    assert sum(part["us"] for part in body["parts"]) == pytest.approx(body["total_us"])


def test_without_traffic_it_says_how_much_is_missing(viewer_api: APIClient) -> None:
    endpoint = Endpoint.objects.create(name="idle", created_by="dora", traffic={"blue": 100})
    deployment_add(endpoint, model_register("digits"))
    body = viewer_api.get("/api/v1/endpoints/idle/bottlenecks").json()
    assert body["summary"].startswith("0 requests were answered in the last 60 s")
    assert (body["deployment"], body["findings"], body["total_us"]) == ("blue", [], 0.0)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("nobody/bottlenecks", 404, "EndpointNotFound"),
        ("digits/bottlenecks?deployment=green", 404, "DeploymentNotFound"),
        ("digits/bottlenecks?range=5", 400, "BadArgument"),
        ("digits/bottlenecks?range=1000", 400, "BadArgument"),
    ],
)
def test_what_it_refuses(
    loaded: float, viewer_api: APIClient, path: str, status: int, code: str
) -> None:
    del loaded
    answer = viewer_api.get(f"/api/v1/endpoints/{path}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_where_no_replica_can_be_asked_the_configuration_is_unknown(
    loaded: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_deployment: Deployment, _model: str) -> Any:
        raise Conflict("No replica is ready.", code="ResourceNotReady")

    monkeypatch.setattr(selectors, "config_served", refused)
    facts = facts_of(endpoint_get("digits"), "blue", 60.0, loaded)
    assert facts is not None
    assert facts.models[0].settings is None


def test_gateways_of_before_say_nothing_of_times(loaded: float) -> None:
    GatewaySample.objects.all().delete()
    old = answered(loaded - 1, 50)
    old.data = {"deployment": "blue", "requests": 50, "histogram": {"10": 50}}
    old.save()
    facts = facts_of(endpoint_get("digits"), "", 60.0, loaded)
    assert facts is not None
    assert (facts.requests, facts.timed, facts.total_us) == (50, 0, 0.0)
    assert facts.p50_us is not None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ModelSettings()),
        (
            {"dynamic_batching": {"max_queue_delay_microseconds": "500"}, "max_batch_size": 4},
            ModelSettings(batches=True, delay_us=500.0, max_batch_size=4),
        ),
        ({"dynamic_batching": {}}, ModelSettings(batches=True)),
        ({"sequence_batching": {}}, ModelSettings(sequences=True)),
        ({"ensemble_scheduling": {"step": []}}, ModelSettings(ensemble=True)),
        ({"instance_group": [{"kind": "KIND_GPU"}]}, ModelSettings(on_gpu=True)),
    ],
)
def test_settings_are_read_from_the_served_configuration(
    config: dict[str, Any], expected: ModelSettings
) -> None:
    assert settings_of(config) == expected


def test_of_other_projects_a_member_reads_no_name(
    loaded: float, client_of: Callable[[User], APIClient]
) -> None:
    """What takes a machine's processors is told, and not whose it is."""
    Project.objects.create(name="alpha", created_by="ada")
    Endpoint.objects.filter(name="digits").update(
        project="alpha", created_at=datetime.fromtimestamp(loaded - 3600, UTC)
    )
    client = client_of(member("alpha", "viewer"))
    assert client.get("/api/v1/endpoints/ranking/bottlenecks").status_code == 404
    assert client.get("/api/v1/endpoints/digits/bottlenecks").status_code == 200
    with within(frozenset({"alpha"})):
        facts = facts_of(endpoint_get("digits"), "", 60.0, loaded)
    assert facts is not None
    assert {name for name, _ in facts.nodes[0].others} == {"other endpoints", "other programs"}


def test_a_member_is_told_of_their_own_endpoint_s_time_alone(loaded: float) -> None:
    Project.objects.create(name="alpha", created_by="ada")
    made = datetime.fromtimestamp(loaded - 7, UTC)
    Endpoint.objects.filter(name="digits").update(project="alpha", created_at=made)
    with within(frozenset({"alpha"})):
        facts = facts_of(endpoint_get("digits"), "", 60.0, loaded)
    assert facts is not None
    assert facts.requests == 4 * 180
