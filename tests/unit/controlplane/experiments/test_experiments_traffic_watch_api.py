"""A change of traffic is watched by all who see the endpoint, and taken back once."""

from datetime import timedelta
from typing import Any, Final

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import Project
from controlplane.console.reads import endpoint_state
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, TrafficChange
from controlplane.deployments.services.traffic import shares_write
from controlplane.operations.services import gateway_confirmed
from tests.support.gateway_counts import counted
from tests.support.people import make_user
from tests.support.placed_replicas import blue_and_green
from tests.support.project_world import member
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS: Final = "/api/v1/endpoints/digits"
TENTH: Final = {"blue": 90, "green": 10}
GREEN: Final = {"name": "green", "model": "digits", "traffic": 10}
TO_GREEN: Final = {"header": "x-debug", "present": True, "deployment": "green"}


@pytest.fixture
def two(db: None) -> None:
    blue_and_green()


def as_user(name: str, role: str = "deployer") -> APIClient:
    client = APIClient()
    client.force_authenticate(make_user(name, role=role))
    return client


@pytest.fixture
def anna() -> APIClient:
    return as_user("anna")


@pytest.fixture
def bert() -> APIClient:
    return as_user("bert")


def put(client: APIClient, etag: str | None = None, **body: Any) -> Any:
    headers = {"If-Match": etag} if etag else {}
    return client.put(f"{DIGITS}/traffic", body, format="json", headers=headers)


def patch(client: APIClient, body: dict[str, Any], etag: str) -> Any:
    return client.patch(DIGITS, body, format="json", headers={"If-Match": etag})


def seen(client: APIClient) -> dict[str, Any]:
    body: dict[str, Any] = client.get(DIGITS).json()
    return body


def change(client: APIClient) -> Any:
    found = client.get(f"{DIGITS}/traffic/watch")
    assert found.status_code == 200, found.content
    assert found.json()["change"] == seen(client)["traffic_change"]
    return seen(client)["traffic_change"]


def confirm() -> None:
    gateway_confirmed(generation_by_endpoint={"digits": Endpoint.objects.get().generation})


def test_everybody_sees_the_change_from_its_routing_to_its_end(
    two: None, anna: APIClient, bert: APIClient
) -> None:
    assert change(bert) is None
    assert put(anna, traffic=TENTH).json()["traffic_change"]["state"] == "routing"
    told = change(bert)
    assert (told["actor"], told["before"]["traffic"]) == ("anna", {"blue": 100})
    assert (told["after"]["traffic"], told["routed_at"], told["watched_until"]) == (
        TENTH, None, None,
    )  # fmt: skip
    confirm()
    told = change(bert)
    assert told["state"] == "watching"
    assert told["routed_at"] < told["watched_until"]
    assert endpoint_state("digits")["traffic_change"] == told
    left = bert.get(f"{DIGITS}/traffic/watch").json()["left_s"]
    assert 0 < left <= 120
    TrafficChange.objects.update(routed_at=timezone.now() - timedelta(seconds=121))
    assert change(bert)["state"] == "watched"
    assert bert.get(f"{DIGITS}/traffic/watch").json()["left_s"] is None
    TrafficChange.objects.update(changed_at=timezone.now() - timedelta(hours=1))
    assert change(bert) is None


def test_the_figures_are_what_gateways_counted(two: None, anna: APIClient) -> None:
    put(anna, traffic=TENTH)
    changed_at = timezone.now() - timedelta(minutes=5)
    Endpoint.objects.update(created_at=changed_at - timedelta(hours=1))
    routed_at = changed_at + timedelta(seconds=2)
    TrafficChange.objects.update(changed_at=changed_at, routed_at=routed_at)
    at = changed_at.timestamp()
    counted(at - 10, blue=(200, 0))
    counted(at + 1, green=(1000, 1000))  # before it was routed
    counted(at + 10, green=(40, 10), blue=(300, 0))
    counted(at + 130, green=(1000, 1000))  # when it was no longer watched
    found = anna.get(f"{DIGITS}/traffic/watch").json()["found"]
    (green,) = found["gaining"]
    assert (green["deployment"], green["compared"], green["verdict"]) == ("green", True, "errors")
    assert (green["figures"]["requests"], green["figures"]["error_share"]) == (40, 0.25)
    assert (found["before"]["requests"], found["verdict"]) == (200, "errors")
    assert found["text"].startswith("green fails more requests than before: errors 25.00 %")


def test_two_who_press_undo_undo_once(two: None, anna: APIClient, bert: APIClient) -> None:
    put(anna, traffic=TENTH)
    confirm()
    etag, undo = seen(anna)["etag"], change(anna)["undo"]
    assert undo == {"traffic": {"blue": 100}}
    assert patch(bert, undo, etag).status_code == 200
    second = patch(anna, undo, etag)
    assert second.status_code == 412
    assert second.json()["changed"]["by"] == "bert"
    told = change(anna)
    assert (told["state"], told["undone_by"], told["undo"]) == ("undone", "bert", None)
    assert (told["actor"], seen(anna)["traffic"]) == ("anna", {"blue": 100})
    TrafficChange.objects.update(undone_at=timezone.now() - timedelta(seconds=121))
    assert change(anna) is None


def test_a_change_in_between_is_the_one_that_is_watched(
    two: None, anna: APIClient, bert: APIClient
) -> None:
    put(anna, traffic=TENTH)
    etag, undo = seen(anna)["etag"], change(anna)["undo"]
    put(bert, traffic={"blue": 50, "green": 50})
    assert patch(anna, undo, etag).status_code == 412
    told = change(anna)
    assert (told["actor"], told["before"]["traffic"], told["undone_by"]) == ("bert", TENTH, "")
    # what gateways had confirmed before is not this one
    gateway_confirmed(generation_by_endpoint={"digits": Endpoint.objects.get().generation - 1})
    assert change(anna)["state"] == "routing"
    # changed again, not taken back: what came before the last change is past
    put(anna, traffic={"blue": 100, "green": 0})
    assert (change(anna)["actor"], change(anna)["state"]) == ("anna", "routing")


def test_the_same_again_and_settings_are_no_change(two: None, anna: APIClient) -> None:
    put(anna, traffic=TENTH)
    first = change(anna)
    put(anna, traffic=TENTH)
    assert anna.patch(DIGITS, {"description": "x"}, format="json").status_code == 200
    body = {"mirror_traffic": {}}
    assert anna.put(f"{DIGITS}/mirror", body, format="json").status_code == 200
    assert change(anna) == first


def test_rules_are_watched_and_undone_as_well(two: None, anna: APIClient) -> None:
    put(anna, traffic_rules=[TO_GREEN])
    told = change(anna)
    assert told["undo"] == {"traffic_rules": []}
    found = anna.get(f"{DIGITS}/traffic/watch").json()["found"]
    assert [one["deployment"] for one in found["gaining"]] == ["green"]
    assert patch(anna, told["undo"], seen(anna)["etag"]).status_code == 200
    assert change(anna)["state"] == "undone"


def test_one_request_is_one_change_whatever_it_names(two: None, anna: APIClient) -> None:
    put(anna, traffic=TENTH, traffic_rules=[TO_GREEN])
    told = change(anna)
    assert (told["before"]["traffic"], told["before"]["traffic_rules"]) == ({"blue": 100}, [])
    assert (told["after"]["traffic"], len(told["after"]["traffic_rules"])) == (TENTH, 1)
    confirm()
    assert change(anna)["state"] == "watching"
    assert patch(anna, told["undo"], seen(anna)["etag"]).status_code == 200
    told = change(anna)
    assert (told["state"], seen(anna)["traffic_rules"]) == ("undone", [])


def test_copies_that_a_change_ended_come_again_with_undo(two: None, anna: APIClient) -> None:
    body = {"mirror_traffic": {"green": 20}}
    assert anna.put(f"{DIGITS}/mirror", body, format="json").status_code == 200
    assert change(anna) is None  # nobody reads the answers to copies
    put(anna, traffic=TENTH)
    assert seen(anna)["mirror_traffic"] == {}
    assert patch(anna, change(anna)["undo"], seen(anna)["etag"]).status_code == 200
    assert (seen(anna)["mirror_traffic"], change(anna)["state"]) == ({"green": 20}, "undone")


def test_what_nothing_leads_back_from_has_no_undo(two: None, anna: APIClient) -> None:
    put(anna, traffic={"blue": 0, "green": 100})
    Deployment.objects.filter(name="blue").delete()
    assert (change(anna)["undo"], change(anna)["state"]) == (None, "routing")
    Endpoint.objects.update(traffic={"green": 50})  # as an older control plane would
    assert change(anna) is None


def test_rollouts_and_deletions_end_the_watch(two: None, anna: APIClient) -> None:
    put(anna, traffic=TENTH)
    row = Endpoint.objects.get()
    shares_write(row, dict(row.traffic), actor="rollout", now=timezone.now(), watched=False)
    assert change(anna)["actor"] == "anna"  # it has changed nothing
    before = {"blue": 100}  # what a rollout puts back nobody has undone
    shares_write(row, before, actor="rollout", now=timezone.now(), watched=False)
    assert change(anna) is None
    assert not TrafficChange.objects.exists()


@pytest.fixture
def node(anna: APIClient) -> SimulatedNode:
    """With a deployment that answers all; an operation has made it."""
    model_register()
    node = SimulatedNode()
    anna.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.bring_up()
    gateway_confirms()
    assert seen(anna)["traffic"] == {"blue": 100}
    assert change(anna) is None
    return node


def test_a_deployment_that_takes_its_share_is_watched_where_others_answered(
    node: SimulatedNode, anna: APIClient
) -> None:
    assert anna.post(f"{DIGITS}/deployments", GREEN, format="json").status_code == 202
    node.bring_up()
    assert change(anna)["state"] == "routing"
    gateway_confirms()
    told = change(anna)
    assert (told["state"], told["actor"], told["after"]["traffic"]) == ("watching", "anna", TENTH)
    anna.delete(f"{DIGITS}/deployments/blue?force=true")
    node.bring_up()
    gateway_confirms()
    assert (seen(anna)["traffic"], change(anna)) == ({"green": 100}, None)


def test_an_operation_that_puts_the_traffic_back_says_so(
    node: SimulatedNode, anna: APIClient
) -> None:
    operation = anna.post(f"{DIGITS}/deployments", GREEN, format="json").json()["id"]
    node.bring_up()
    assert change(anna)["state"] == "routing"
    assert anna.post(f"/api/v1/operations/{operation}/cancel").status_code < 300
    assert (seen(anna)["traffic"], change(anna)) == ({"blue": 100}, None)
    moved = Event.objects.filter(verb="endpoint.traffic_changed").order_by("-seq")[0]
    assert (moved.data["traffic"], moved.data["operation"]) == ({"blue": 100}, operation)


def test_who_may_not_change_traffic_watches_only(two: None, anna: APIClient) -> None:
    reader = as_user("rita", role="viewer")
    put(anna, traffic=TENTH)
    assert change(reader)["actor"] == "anna"
    refused = patch(reader, change(reader)["undo"], seen(reader)["etag"])
    assert refused.status_code == 403
    assert change(reader)["state"] == "routing"


def test_somebody_of_another_project_is_told_nothing(two: None, anna: APIClient) -> None:
    put(anna, traffic=TENTH)
    stranger = APIClient()
    stranger.force_authenticate(member(Project.objects.create(name="other").name, "deployer"))
    answer = stranger.get(f"{DIGITS}/traffic/watch")
    assert (answer.status_code, answer.json()["code"]) == (404, "EndpointNotFound")
