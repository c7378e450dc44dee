"""Emptying nodes, labels, and placement that says why."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Replica
from controlplane.deployments.placement import Need, Offer, explain
from controlplane.deployments.selectors import routing_view
from controlplane.nodes.models import Node
from controlplane.operations import services
from tests.support.registered_models import model_register
from tests.support.simulated_node import HEALTHY_WALK, SimulatedNode, gateway_confirms
from wire import codec
from wire.messages import LeaveReply, LeaveRequest

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"


@pytest.fixture
def one() -> SimulatedNode:
    return SimulatedNode("one")


@pytest.fixture
def serving(api: APIClient, one: SimulatedNode) -> SimulatedNode:
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    one.bring_up()
    gateway_confirms()
    return one


@pytest.fixture
def drain(admin_api: APIClient) -> Callable[..., Any]:
    def send(node: str = "one", **body: object) -> Any:
        return admin_api.post(f"/api/v1/nodes/{node}/drain", body, format="json")

    return send


def come_up(node: SimulatedNode) -> None:
    node.desired()
    for state in HEALTHY_WALK:
        for key, seen in node.replicas.items():
            if seen.state != "ready":
                node.replicas[key] = replace(seen, state=state, http_port=9201, grpc_port=9202)
        node.report()


def test_the_preview_says_where_everything_would_go_and_changes_nothing(
    admin_api: APIClient, serving: SimulatedNode, drain: Callable[..., Any]
) -> None:
    alone = drain(dry_run=True)
    assert alone.status_code == 200
    (move,) = alone.json()["moves"]
    assert (move["deployment"], move["traffic"], move["to"]) == ("blue", 100, None)
    SimulatedNode("two")
    (move,) = drain(dry_run=True).json()["moves"]
    assert (move["to"], move["why_not"]) == ("two", "")
    shown = admin_api.get("/api/v1/nodes/one").json()
    assert (shown["cordoned"], shown["drain"]) == (False, None)
    assert Replica.objects.count() == 1


def test_what_runs_there_answers_elsewhere_before_it_goes(
    admin_api: APIClient, serving: SimulatedNode, drain: Callable[..., Any]
) -> None:
    two = SimulatedNode("two")
    assert drain().status_code == 202
    old = Replica.objects.get(node__name="one")
    new = Replica.objects.get(node__name="two")
    assert (old.desired, new.desired, new.ordinal) == ("running", "running", old.ordinal)
    services.operations_tick(now=timezone.now())
    assert Replica.objects.count() == 2  # asked again, nothing is placed twice
    come_up(two)
    old.refresh_from_db()
    assert old.desired == "retiring"
    (routed,) = [d for d in routing_view().endpoints[0].deployments if d.name == "blue"]
    assert {r.replica_id: r.draining for r in routed.replicas} == {old.pk: True, new.pk: False}
    gateway_confirms()
    serving.desired()
    serving.report()
    services.operations_tick(now=timezone.now())
    shown = admin_api.get("/api/v1/nodes/one").json()
    assert (shown["cordoned"], shown["drain"]["done"], shown["replicas"]) == (True, True, [])
    assert Event.objects.filter(verb="node.drained", subject="node/one").count() == 1
    assert admin_api.get(BLUE).json()["serving_state"] == "Healthy"
    assert admin_api.delete("/api/v1/nodes/one").status_code == 204


def test_what_has_nowhere_to_go_is_stopped_only_by_force_and_in_the_end(
    admin_api: APIClient, serving: SimulatedNode, drain: Callable[..., Any]
) -> None:
    refused = drain()
    assert (refused.status_code, refused.json()["code"]) == (409, "OutOfCapacity")
    assert refused.json()["stuck"][0]["deployment"] == "digits/blue"
    assert drain(force=True, deadline_s=60).status_code == 202
    services.operations_tick(now=timezone.now())
    assert Replica.objects.get().desired == "running"
    services.drains_advance(now=timezone.now() + timedelta(seconds=61))
    assert Replica.objects.get().desired == "retiring"
    services.operations_tick(now=timezone.now() + timedelta(seconds=80))  # no gateway answers
    assert Replica.objects.get().desired == "stopped"
    shown = admin_api.post("/api/v1/nodes/one/uncordon").json()
    assert (shown["cordoned"], shown["drain"]) == (False, None)


def test_a_node_that_still_runs_something_is_not_removed(
    admin_api: APIClient, serving: SimulatedNode
) -> None:
    answer = admin_api.delete("/api/v1/nodes/one")
    assert (answer.status_code, answer.json()["deployments"]) == (409, ["digits/blue"])
    assert admin_api.delete("/api/v1/nodes/one?force=true").status_code == 204


@pytest.mark.parametrize("name", ["", " ", "z" * 256])
def test_a_label_has_a_name(admin_api: APIClient, one: SimulatedNode, name: str) -> None:
    answer = admin_api.patch("/api/v1/nodes/one", {"labels": {name: "x"}}, format="json")
    assert (answer.status_code, answer.json()["field"]) == (400, "labels")
    assert "1 to 255" in answer.json()["detail"]


def test_a_deployment_goes_only_where_its_labels_are(
    api: APIClient, admin_api: APIClient, one: SimulatedNode
) -> None:
    SimulatedNode("two")
    patch = {"labels": {"zone": "b"}}
    shown = admin_api.patch("/api/v1/nodes/two", patch, format="json").json()
    assert shown["labels"] == {"zone": "b"}
    model_register()
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    body = {"name": "blue", "model": "digits", "node_labels": {"zone": "b"}}
    api.post("/api/v1/endpoints/digits/deployments", body, format="json")
    assert Replica.objects.get().node.name == "two"
    first, second = api.get(f"{BLUE}/placement").json()["items"]
    assert (first["node"], first["rank"]) == ("two", 1)
    assert "1 of this deployment" in first["because"]
    assert (second["node"], second["reason"]) == ("one", "has no label zone=b")


def offer(name: str, **more: Any) -> Offer:
    values: dict[str, Any] = {
        "node_id": name, "name": name, "state": "online", "age_s": 1.0, "cordoned": False,
        "backends": frozenset({"onnxruntime"}), "disk_total_bytes": 10, "disk_free_bytes": 10,
        "cache_bytes": 0, "replicas": 0, "siblings": 0,
    }  # fmt: skip
    return Offer(**{**values, **more})


def test_every_node_gets_a_verdict() -> None:
    need = Need((0,), frozenset({"onnxruntime"}), 5, {"gpu": "a100"})
    label = {"labels": {"gpu": "a100"}}
    verdicts = explain(
        need,
        [
            offer("busy", replicas=3, **label),
            offer("free", **label),
            offer("plain"),
            offer("closed", cordoned=True, **label),
            offer("small", disk_free_bytes=1, **label),
        ],
    )
    assert [(v.node, v.rank) for v in verdicts[:2]] == [("free", 1), ("busy", 2)]
    reasons = {v.node: v.reason for v in verdicts[2:]}
    assert reasons["plain"] == "has no label gpu=a100"
    assert reasons["closed"] == "cordoned: it takes no new replicas"
    assert "disk are free" in str(reasons["small"])


def leave(node: SimulatedNode, deadline_s: int = 600) -> int:
    answer = node.post("leave", LeaveRequest(deadline_s))
    assert answer.status_code == 200, answer.content
    return codec.decode(LeaveReply, answer.content).replicas


def test_a_node_that_leaves_is_emptied_first_and_then_forgotten(
    admin_api: APIClient, serving: SimulatedNode
) -> None:
    two = SimulatedNode("two")
    assert leave(serving) == 1
    until = serving.row().drain_deadline_at
    come_up(two)
    gateway_confirms()
    assert leave(serving, 9999) == 1  # its agent has not stopped it yet
    assert serving.row().drain_deadline_at == until
    serving.desired()
    serving.report()
    assert leave(serving) == 0
    assert admin_api.get("/api/v1/nodes/one").status_code == 404
    assert serving.post("leave", LeaveRequest(1)).status_code == 401
    assert admin_api.get(BLUE).json()["serving_state"] == "Healthy"
    removed = Event.objects.get(verb="node.removed", subject="node/one")
    assert removed.actor == "node/one"


def test_a_node_that_leaves_with_the_only_place_stops_at_the_deadline(
    serving: SimulatedNode,
) -> None:
    assert leave(serving, 0) == 1
    services.drains_advance(now=timezone.now() + timedelta(seconds=1))
    gateway_confirms()
    serving.desired()
    serving.report()
    assert leave(serving) == 0


def test_a_node_without_replicas_leaves_at_once(one: SimulatedNode) -> None:
    assert leave(one) == 0
    assert not Node.objects.filter(name="one").exists()
