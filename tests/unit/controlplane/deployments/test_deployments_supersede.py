"""`?supersede=true`: a change that does not wait for the one under way, but ends it."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Operation
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
BLUE = f"{DIGITS}/deployments/blue"


@pytest.fixture
def serving(api: APIClient) -> SimulatedNode:
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.bring_up()
    gateway_confirms()
    return node


@pytest.fixture
def changing(api: APIClient, serving: SimulatedNode) -> str:
    """The id of an operation that replaces what serves, and that all else has to wait for."""
    answer = api.post(f"{BLUE}/update", {"environment": {"A": "1"}}, format="json")
    return str(answer.json()["id"])


CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("patch", BLUE, {"instance_count": 3}),
    ("put", BLUE, {"model": "digits", "environment": {"A": "2"}}),
    ("post", f"{BLUE}/update", {"environment": {"A": "2"}}),
    ("post", f"{BLUE}/restart", {}),
    ("post", f"{BLUE}/stop?force=true", {}),
    ("post", f"{DIGITS}/deployments", {"name": "green", "model": "digits", "traffic": 10}),
]


@pytest.mark.parametrize(
    ("method", "path", "body"), CHANGES, ids=lambda value: str(value).rpartition("/")[2]
)
def test_a_second_change_waits_or_takes_over(
    api: APIClient, changing: str, method: str, path: str, body: dict[str, Any]
) -> None:
    ask = getattr(api, method)
    refused = ask(path, body, format="json")
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "OperationInProgress")
    assert (problem["operation"], problem["operation_url"]) == (
        changing,
        f"/api/v1/operations/{changing}",
    )
    assert "supersede=true" in problem["hints"][0]
    assert api.get(problem["operation_url"]).json()["state"] == "Running"

    joined = f"{path}{'&' if '?' in path else '?'}supersede=true"
    taken = ask(joined, body, format="json")
    assert taken.status_code == 202, taken.json()
    assert taken.json()["id"] != changing
    assert Operation.objects.get(pk=changing).state == "Canceled"
    assert Event.objects.filter(verb="operation.superseded", actor="dora").count() == 1


def test_what_served_serves_on(api: APIClient, serving: SimulatedNode, changing: str) -> None:
    before = {replica.replica_id for replica in serving.desired().replicas}
    api.post(f"{BLUE}/update?supersede=true", {"environment": {"A": "2"}}, format="json")
    shown = api.get(BLUE).json()
    assert (shown["provisioning_state"], shown["serving_state"]) == ("Updating", "Healthy")
    assert shown["environment"] == {"A": "2"}
    after = {replica.replica_id for replica in serving.desired().replicas}
    assert len(before & after) == 1  # the one that answers
    assert len(before - after) == 1  # the one that the first change had begun


def test_a_refused_change_leaves_the_first_alone(api: APIClient, changing: str) -> None:
    refused = api.post(f"{BLUE}/update?supersede=true", {"model": "none"}, format="json")
    assert refused.status_code == 404
    assert Operation.objects.get(pk=changing).state == "Running"
    stale = api.post(
        f"{BLUE}/restart?supersede=true", format="json", headers={"If-Match": 'W/"other"'}
    )
    assert stale.status_code == 412
    assert Operation.objects.get(pk=changing).state == "Running"


def test_a_first_deployment_that_is_superseded_is_brought_up_afresh(api: APIClient) -> None:
    model_register()
    SimulatedNode()
    first = api.post("/api/v1/deploy", {"model": "digits"}, format="json").json()["id"]
    again = api.post("/api/v1/deploy", {"model": "digits"}, format="json").json()["id"]
    assert again == first  # the same is asked for
    other = {"model": "digits", "environment": {"A": "1"}}
    answer = api.put(f"{BLUE}?supersede=true", other, format="json")
    assert answer.status_code == 202
    assert Operation.objects.get(pk=first).state == "Canceled"
    assert Deployment.objects.get().environment == {"A": "1"}


def test_a_deletion_is_not_superseded(api: APIClient, serving: SimulatedNode) -> None:
    deletion = api.delete(f"{BLUE}?force=true").json()["id"]
    refused = api.post(f"{BLUE}/restart?supersede=true", format="json")
    assert (refused.status_code, refused.json()["operation"]) == (409, deletion)
    assert Operation.objects.get(pk=deletion).state == "Running"


def test_traffic_supersedes_what_is_about_to_move_it(
    api: APIClient, serving: SimulatedNode
) -> None:
    body = {"name": "green", "model": "digits", "traffic": 100}
    moving = api.post(f"{DIGITS}/deployments", body, format="json").json()["id"]
    other = api.post(f"{BLUE}/restart", format="json").json()["id"]
    for path, change in (
        (f"{DIGITS}/traffic", {"traffic": {"blue": 100}}),
        (DIGITS, {"traffic": {}}),
    ):
        refused = api.put(path, change, format="json")
        assert (refused.status_code, refused.json()["operation"]) == (409, moving)
    done = api.put(f"{DIGITS}/traffic?supersede=true", {"traffic": {}}, format="json")
    assert done.status_code == 200
    assert Endpoint.objects.get().traffic == {}
    states = dict(Operation.objects.values_list("id", "state"))
    assert (states[moving], states[other]) == ("Canceled", "Running")
