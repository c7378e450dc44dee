"""A model becomes a live endpoint over the real API, with a simulated agent.

And all that may go wrong on the way. Time is an argument of the services.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.selectors import routing_view
from controlplane.operations import services
from controlplane.operations.models import Operation
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.samples import LogBatch, LogEntry

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def deploy(api: APIClient, **body: Any) -> dict[str, Any]:
    answer = api.post("/api/v1/deploy", {"model": "digits", **body}, format="json")
    assert answer.status_code == 202, answer.content
    return dict(answer.json())


def operation(api: APIClient, operation_id: str) -> dict[str, Any]:
    return dict(api.get(f"/api/v1/operations/{operation_id}").json())


def endpoint(api: APIClient, name: str = "digits") -> dict[str, Any]:
    answer = api.get(f"/api/v1/endpoints/{name}")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def running_stage(shown: dict[str, Any]) -> str:
    return next(stage["name"] for stage in shown["stages"] if stage["status"] == "running")


def serve(api: APIClient, node: SimulatedNode, **body: Any) -> dict[str, Any]:
    """Deploy and see it through."""
    started = deploy(api, **body)
    node.bring_up()
    gateway_confirms()
    ended = operation(api, started["id"])
    assert ended["state"] == "Succeeded", ended
    return ended


def deployed_on_one_of_two(api: APIClient) -> tuple[SimulatedNode, SimulatedNode]:
    """The node that the one replica of a new endpoint was placed on, and the other."""
    model_register()
    first, second = SimulatedNode("first"), SimulatedNode("second")
    deploy(api)
    placed = Replica.objects.get()
    return (first, second) if placed.node == first.row() else (second, first)


def only_this_one_reports(node: SimulatedNode, since: datetime, span: range) -> None:
    """Time passes; ``span`` is in seconds."""
    for seconds in span:
        now = since + timedelta(seconds=seconds)
        services.node_report(node=node.row(), report=node.message(), now=now)
        services.operations_tick(now=now)


def test_a_model_becomes_a_live_endpoint_stage_by_stage(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    started = deploy(api)
    assert running_stage(started) == "download"
    assert endpoint(api)["serving_state"] == "Deploying"

    desired = node.desired()
    assert [file.path for file in desired.replicas[0].files] == [
        "digits/1/model.onnx",
        "digits/config.pbtxt",
    ]
    assert desired.replicas[0].models == ("digits",)
    node.say("downloading", downloaded_bytes=32, total_bytes=128)
    half = operation(api, started["id"])
    assert half["stages"][2]["progress"] == 0.25
    node.say("starting")
    assert running_stage(operation(api, started["id"])) == "load"
    node.say("loading")
    node.say("warming")
    assert running_stage(operation(api, started["id"])) == "warm"
    node.say("ready")
    assert running_stage(operation(api, started["id"])) == "route"

    (routed,) = routing_view().endpoints
    assert [(d.name, d.weight) for d in routed.deployments] == [("blue", 100)]
    assert [(r.http_port, r.draining) for r in routed.deployments[0].replicas] == [(9001, False)]
    services.gateway_confirmed(generation_by_endpoint={"digits": routed.generation - 1})
    assert operation(api, started["id"])["state"] == "Running"
    gateway_confirms()

    ended = operation(api, started["id"])
    assert ended["state"] == "Succeeded"
    assert ended["percent"] == 100
    assert [stage["status"] for stage in ended["stages"]] == ["succeeded"] * 6
    assert ended["result"]["scoring_uri"].endswith("/endpoints/digits/")
    assert ended["result"]["model_name"] == "digits"
    shown = endpoint(api)
    assert (shown["serving_state"], shown["provisioning_state"]) == ("Healthy", "Succeeded")
    assert shown["traffic"] == {"blue": 100}
    assert shown["deployments"][0]["operation"] == started["id"]


def test_asking_twice_gives_the_operation_that_is_under_way_and_later_one_that_is_done(
    api: APIClient,
) -> None:
    model_register()
    node = SimulatedNode()
    first = deploy(api)
    assert deploy(api)["id"] == first["id"]
    node.bring_up()
    gateway_confirms()
    again = deploy(api)
    gateway_confirms()
    ended = operation(api, again["id"])
    assert again["id"] != first["id"]
    assert ended["state"] == "Succeeded", ended
    assert Replica.objects.count() == 1


def test_the_second_version_takes_the_other_colour_and_then_all_traffic(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    serve(api, node)
    model_register(content=b"better")
    ended = serve(api, node)
    assert ended["deployment"] == "green"
    assert ended["result"]["idle_deployments"] == ["blue"]
    assert endpoint(api)["traffic"] == {"green": 100}
    model_register(content=b"best")
    third = serve(api, node)
    assert third["deployment"] == "blue"
    assert Deployment.objects.count() == 2


def test_a_replica_that_fails_ends_the_operation_with_its_reason_and_last_lines(
    api: APIClient,
) -> None:
    model_register()
    node = SimulatedNode()
    started = deploy(api)
    (replica,) = node.desired().replicas
    line = LogEntry(replica.replica_id, "digits", "blue", 1.0, "inference-server", "opset 99", 1)
    assert node.post("logs", LogBatch(entries=(line,))).status_code == 200
    node.fail()
    ended = operation(api, started["id"])
    assert ended["state"] == "Failed"
    assert ended["error"]["code"] == "ModelLoadFailed"
    assert "opset 99" in ended["error"]["detail"]
    assert ended["stages"][2]["status"] == "failed"
    assert node.desired().replicas == ()
    shown = endpoint(api)
    assert shown["provisioning_state"] == "Succeeded"
    assert shown["serving_state"] == "Stopped"
    assert shown["deployments"][0]["provisioning_state"] == "Failed"
    lines = api.get("/api/v1/endpoints/digits/deployments/blue/logs").json()["lines"]
    assert [entry["text"] for entry in lines] == ["opset 99"]
    assert Event.objects.filter(verb="operation.failed").count() == 1


def test_a_failed_second_version_leaves_the_first_serving_and_can_be_retried(
    api: APIClient,
) -> None:
    model_register()
    node = SimulatedNode()
    serve(api, node)
    model_register(content=b"worse")
    started = deploy(api)
    node.desired()
    kept = {key for key, seen in node.replicas.items() if seen.state == "ready"}
    broken = next(key for key in node.replicas if key not in kept)
    node.replicas[broken] = type(node.replicas[broken])(
        replica_id=broken, generation=1, state="failed"
    )
    node.report()
    assert operation(api, started["id"])["state"] == "Failed"
    shown = endpoint(api)
    assert (shown["serving_state"], shown["traffic"]) == ("Healthy", {"blue": 100})

    answer = api.post(f"/api/v1/operations/{started['id']}/retry")
    assert answer.status_code == 202, answer.content
    node.bring_up()
    gateway_confirms()
    assert operation(api, answer.json()["id"])["state"] == "Succeeded"
    assert endpoint(api)["traffic"] == {"green": 100}


@pytest.mark.parametrize("states", [(), ("downloading",), ("starting", "loading"), ("ready",)])
def test_cancelling_works_at_every_stage(api: APIClient, states: tuple[str, ...]) -> None:
    model_register()
    node = SimulatedNode()
    started = deploy(api)
    node.desired()
    for state in states:
        node.say(state)
    answer = api.post(f"/api/v1/operations/{started['id']}/cancel")
    assert answer.json()["state"] == "Canceled"
    gateway_confirms()  # nodes are told once nothing new is sent there
    assert node.desired().replicas == ()
    shown = endpoint(api)
    assert shown["traffic"] == {}
    assert shown["deployments"][0]["provisioning_state"] == "Canceled"
    assert api.post(f"/api/v1/operations/{started['id']}/cancel").status_code == 409


def test_an_operation_that_nobody_moves_ends_at_its_deadline(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    started = deploy(api)
    node.desired()
    node.say("loading")
    row = Operation.objects.get(pk=started["id"])
    # the node is heard to the end, it just never gets further
    late = row.deadline_at + timedelta(seconds=1)
    services.node_report(node=node.row(), report=node.message(), now=late)
    services.operations_tick(now=late)
    ended = operation(api, started["id"])
    assert ended["state"] == "Failed"
    assert ended["error"]["code"] == "DeadlineExceeded"
    assert "Load the model" in ended["error"]["message"]
    assert node.desired().replicas == ()


def test_without_a_node_the_operation_fails_and_says_why(api: APIClient) -> None:
    model_register()
    started = deploy(api)
    assert "No node has joined" in started["stages"][1]["detail"]
    services.operations_tick(now=timezone.now() + timedelta(seconds=30))
    ended = operation(api, started["id"])
    assert ended["error"]["code"] == "OutOfCapacity"


def test_a_node_lost_while_loading_is_replaced_by_another(api: APIClient) -> None:
    model_register()
    first, second = SimulatedNode("first"), SimulatedNode("second")
    started = deploy(api)
    (placed,) = Replica.objects.all()
    holder, other = (first, second) if placed.node == first.row() else (second, first)
    holder.desired()
    holder.say("loading")
    only_this_one_reports(other, timezone.now(), range(5, 145, 10))
    moved = Replica.objects.exclude(pk=placed.pk).get()
    assert moved.node == other.row()
    assert operation(api, started["id"])["state"] == "Running"
    assert holder.desired().replicas == ()  # when it returns it is told to stop
    other.bring_up()
    gateway_confirms()
    assert operation(api, started["id"])["state"] == "Succeeded"


def test_a_node_lost_while_serving_degrades_then_moves_the_replica(api: APIClient) -> None:
    holder, other = deployed_on_one_of_two(api)
    holder.bring_up()
    gateway_confirms()
    assert endpoint(api)["serving_state"] == "Healthy"
    start = timezone.now()
    only_this_one_reports(other, start, range(5, 45, 10))
    assert Replica.objects.get().state == "unknown"
    # gateways keep the route and watch its health: the node may only be cut off from us
    assert len(routing_view().endpoints[0].deployments[0].replicas) == 1
    only_this_one_reports(other, start, range(45, 145, 10))
    moved = Replica.objects.get(node=other.row())
    assert moved.desired == "running"
    assert not [
        replica
        for replica in routing_view().endpoints[0].deployments[0].replicas
        if not replica.draining
    ]


def test_after_an_outage_of_the_control_plane_nothing_is_moved_in_haste(api: APIClient) -> None:
    holder, other = deployed_on_one_of_two(api)
    holder.bring_up()
    gateway_confirms()
    # ten minutes nobody listened; the node without the replica is the first to be heard again
    back = timezone.now() + timedelta(minutes=10)
    only_this_one_reports(other, back, range(0, 30, 10))
    assert Replica.objects.get().node == holder.row()
    services.node_report(
        node=holder.row(), report=holder.message(), now=back + timedelta(seconds=31)
    )
    assert Replica.objects.get().state == "ready"


def test_a_replica_that_dies_and_returns_is_seen_in_the_state_of_the_endpoint(
    api: APIClient,
) -> None:
    model_register()
    node = SimulatedNode()
    serve(api, node)
    before = Endpoint.objects.get().generation
    node.say("starting", restarts=1)
    assert endpoint(api)["serving_state"] == "Unavailable"
    assert Endpoint.objects.get().generation > before
    node.say("ready", restarts=1, http_port=9101)
    shown = endpoint(api)
    assert shown["serving_state"] == "Healthy"
    assert shown["deployments"][0]["replicas"][0]["restarts"] == 1
    assert routing_view().endpoints[0].deployments[0].replicas[0].http_port == 9101


def test_a_report_about_an_older_generation_changes_nothing(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    serve(api, node)
    Replica.objects.update(generation=2)
    node.fail()
    assert Replica.objects.get().state == "ready"


def test_scaling_up_and_down(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    serve(api, node)
    url = "/api/v1/endpoints/digits/deployments/blue"
    started = api.patch(url, {"instance_count": 3}, format="json").json()
    node.bring_up()
    gateway_confirms()
    assert operation(api, started["id"])["state"] == "Succeeded"
    assert len(node.desired().replicas) == 3
    down = api.patch(url, {"instance_count": 1}, format="json").json()
    gateway_confirms()
    assert operation(api, down["id"])["state"] == "Succeeded"
    assert len(node.desired().replicas) == 1
    node.report()
    assert len(endpoint(api)["deployments"][0]["replicas"]) == 1


def test_deleting_mid_deployment_cancels_it_and_frees_the_name(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    started = deploy(api)
    node.desired()
    node.say("loading")
    deletion = api.delete("/api/v1/endpoints/digits").json()
    assert operation(api, started["id"])["state"] == "Canceled"
    assert api.post("/api/v1/deploy", {"model": "digits"}, format="json").status_code == 409
    gateway_confirms()
    assert node.desired().replicas == ()
    node.report()
    assert operation(api, deletion["id"])["state"] == "Succeeded"
    assert api.get("/api/v1/endpoints/digits").status_code == 404
    assert deploy(api)["state"] == "Running"


def test_a_deletion_ends_although_neither_gateway_nor_node_answers(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    serve(api, node)
    url = "/api/v1/endpoints/digits/deployments/blue"
    refused = api.delete(url)
    assert (refused.status_code, refused.json()["code"]) == (409, "DeploymentHasTraffic")
    deletion = api.delete(f"{url}?force=true").json()
    now = timezone.now()
    for seconds in (12, 130, 140):
        services.operations_tick(now=now + timedelta(seconds=seconds))
    assert operation(api, deletion["id"])["state"] == "Succeeded"
    assert endpoint(api)["deployments"] == []


def test_removing_a_node_moves_what_ran_there(api: APIClient, admin_api: APIClient) -> None:
    holder, other = deployed_on_one_of_two(api)
    holder.bring_up()
    gateway_confirms()
    url = f"/api/v1/nodes/{holder.info.name}"
    assert admin_api.delete(url).status_code == 409
    assert admin_api.delete(f"{url}?force=true").status_code == 204
    assert Replica.objects.get().node == other.row()
    assert holder.client.get("/agent/v1/desired").status_code == 401
