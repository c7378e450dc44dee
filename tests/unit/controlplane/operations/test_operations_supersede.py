"""`?supersede=true`: a change that does not wait for the one under way, but ends it."""

from dataclasses import replace
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.operations.models import Operation
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
    answer = api.post(f"{BLUE}/update", {"environment": {"APP_A": "1"}}, format="json")
    return str(answer.json()["id"])


CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("patch", BLUE, {"instance_count": 3}),
    ("put", BLUE, {"model": "digits", "environment": {"APP_A": "2"}}),
    ("post", f"{BLUE}/update", {"environment": {"APP_A": "2"}}),
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
    api.post(f"{BLUE}/update?supersede=true", {"environment": {"APP_A": "2"}}, format="json")
    shown = api.get(BLUE).json()
    assert (shown["provisioning_state"], shown["serving_state"]) == ("Updating", "Healthy")
    assert shown["environment"] == {"APP_A": "2"}
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
    other = {"model": "digits", "environment": {"APP_A": "1"}}
    answer = api.put(f"{BLUE}?supersede=true", other, format="json")
    assert answer.status_code == 202
    assert Operation.objects.get(pk=first).state == "Canceled"
    assert Deployment.objects.get().revision.settings.environment == {"APP_A": "1"}


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


# --- back to what ran before ---------------------------------------------------------------------

Call = tuple[str, str, dict[str, Any]]
A1: Call = ("post", f"{BLUE}/update", {"environment": {"APP_A": "1"}})
PLAIN: Call = ("post", f"{BLUE}/update", {"environment": {}})
FIRST: Call = ("post", f"{BLUE}/rollback", {"revision": 1})
SECOND: Call = ("post", f"{BLUE}/rollback", {"revision": 2})
STOP: Call = ("post", f"{BLUE}/stop?force=true", {})
START: Call = ("post", f"{BLUE}/start", {})
TWO: Call = ("patch", BLUE, {"instance_count": 2})
ONE: Call = ("patch", BLUE, {"instance_count": 1})
ALL_PLAIN: Call = ("put", BLUE, {"model": "digits"})
BACK: list[tuple[tuple[Call, ...], Call, Call, int]] = [
    # what was done before, what is under way, what supersedes it, and its answer
    ((), A1, PLAIN, 202),
    ((), A1, FIRST, 202),
    ((), A1, ALL_PLAIN, 200),
    ((A1,), FIRST, A1, 202),
    ((A1,), FIRST, SECOND, 202),
    ((A1,), PLAIN, A1, 202),
    ((), STOP, START, 202),
    ((STOP,), START, STOP, 202),
    ((TWO, STOP), START, STOP, 202),
    ((), TWO, ONE, 202),
    ((TWO,), ONE, TWO, 202),
]


def ask(api: APIClient, call: Call, **query: str) -> Any:
    method, path, body = call
    joined = "".join(f"{'&' if '?' in path else '?'}{k}={v}" for k, v in query.items())
    return getattr(api, method)(path + joined, body, format="json")


def settle(node: SimulatedNode) -> None:
    """Nodes and gateways do all that is asked of them, and what that leads to."""
    for _ in range(2):
        node.desired()
        node.say("ready")
        gateway_confirms()


def as_it_is(api: APIClient) -> dict[str, Any]:
    shown = api.get(BLUE).json()
    names = ("environment", "version", "instance_count", "paused_count", "provisioning_state")
    return {name: shown.get(name) for name in (*names, "serving_state")}


@pytest.mark.parametrize(("before", "under_way", "back", "status"), BACK)
def test_one_may_go_back_to_what_ran_before(
    api: APIClient,
    serving: SimulatedNode,
    before: tuple[Call, ...],
    under_way: Call,
    back: Call,
    status: int,
) -> None:
    for call in before:
        assert ask(api, call).status_code == 202
        settle(serving)
    serving.desired()  # without those that have stopped
    was, ran = as_it_is(api), set(serving.replicas)
    moving = ask(api, under_way).json()["id"]
    assert Operation.objects.get(pk=moving).state == "Running"
    assert ask(api, back).json()["code"] == "OperationInProgress"

    answer = ask(api, back, supersede="true")
    assert answer.status_code == status, answer.json()
    assert Operation.objects.get(pk=moving).state == "Canceled"
    settle(serving)
    assert as_it_is(api) == was
    serving.desired()
    if under_way not in (STOP, ONE):  # those have let replicas go at once
        assert set(serving.replicas) == ran  # not one was started or stopped for it
    if status == 202:
        done = api.get(f"/api/v1/operations/{answer.json()['id']}").json()
        assert (done["state"], done["error"]) == ("Succeeded", None)


@pytest.mark.parametrize(("before", "call"), [((), PLAIN), ((), FIRST), ((STOP,), STOP)])
def test_what_is_so_already_is_refused_where_nothing_was_in_the_way(
    api: APIClient, serving: SimulatedNode, before: tuple[Call, ...], call: Call
) -> None:
    for earlier in before:
        ask(api, earlier)
        settle(serving)
    refused = ask(api, call, supersede="true")
    assert (refused.status_code, refused.json()["code"]) == (409, "Conflict")


def test_what_was_paused_twice_starts_as_it_was_at_first(
    api: APIClient, serving: SimulatedNode
) -> None:
    for call in (TWO, STOP):
        ask(api, call)
        settle(serving)
    ask(api, START)
    ask(api, STOP, supersede="true")
    settle(serving)
    assert ask(api, START).status_code == 202
    assert Deployment.objects.get().instance_count == 2


# --- copies --------------------------------------------------------------------------------------


def test_copies_supersede_what_is_about_to_give_traffic_to_who_shall_get_them(
    api: APIClient, serving: SimulatedNode
) -> None:
    green = {"model": "digits", "endpoint": "digits", "deployment": "green", "traffic": 0}
    api.post("/api/v1/deploy", green, format="json")
    settle(serving)
    moving = api.post("/api/v1/deploy", {**green, "traffic": 50, "instance_count": 2}).json()["id"]
    other = ask(api, ("post", f"{BLUE}/restart", {})).json()["id"]
    copies: Call = ("put", f"{DIGITS}/mirror", {"mirror_traffic": {"green": 10}})
    refused = ask(api, copies)
    assert (refused.status_code, refused.json()["operation"]) == (409, moving)
    assert Endpoint.objects.get().mirror_traffic == {}
    none: Call = ("put", f"{DIGITS}/mirror", {"mirror_traffic": {}})
    assert ask(api, none, supersede="true").status_code == 200
    states = dict(Operation.objects.values_list("id", "state"))
    assert (states[moving], states[other]) == ("Running", "Running")

    assert ask(api, copies, supersede="true").status_code == 200
    assert Endpoint.objects.get().mirror_traffic == {"green": 10}
    states = dict(Operation.objects.values_list("id", "state"))
    assert (states[moving], states[other]) == ("Canceled", "Running")


# --- trying again --------------------------------------------------------------------------------

ENDINGS = ("failed", "cancelled")
AGAIN: list[tuple[Call, dict[str, Any]]] = [
    (A1, {"environment": {"APP_A": "1"}, "instance_count": 1}),
    (("post", f"{BLUE}/restart", {}), {"environment": {}, "instance_count": 1}),
    (TWO, {"environment": {}, "instance_count": 2}),
]


def end(api: APIClient, node: SimulatedNode, operation: str, how: str) -> None:
    """Let it fail, or cancel it; what served before serves on."""
    served = {key for key, seen in node.replicas.items() if seen.state == "ready"}
    if how == "cancelled":
        api.post(f"/api/v1/operations/{operation}/cancel")
    else:
        node.desired()
        for key, seen in node.replicas.items():
            if key not in served:
                node.replicas[key] = replace(seen, state="failed")
        node.report()
    wanted = {"failed": "Failed", "cancelled": "Canceled"}[how]
    assert Operation.objects.get(pk=operation).state == wanted
    settle(node)


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize(("call", "expected"), AGAIN)
def test_a_retry_does_the_same_again(
    api: APIClient, serving: SimulatedNode, call: Call, expected: dict[str, Any], how: str
) -> None:
    settle(serving)
    before, was = set(serving.replicas), as_it_is(api)
    first = ask(api, call).json()["id"]
    end(api, serving, first, how)
    assert as_it_is(api) == was

    again = api.post(f"/api/v1/operations/{first}/retry")
    assert again.status_code == 202, again.json()
    settle(serving)
    assert Operation.objects.get(pk=again.json()["id"]).state == "Succeeded"
    assert as_it_is(api) | expected == as_it_is(api)
    serving.desired()
    assert set(serving.replicas) != before


@pytest.mark.parametrize("state", ["Queued", "Running", "Succeeded"])
def test_only_what_failed_or_was_cancelled_is_retried(
    api: APIClient, serving: SimulatedNode, state: str
) -> None:
    done = Operation.objects.get()
    Operation.objects.filter(pk=done.pk).update(state=state)
    refused = api.post(f"/api/v1/operations/{done.pk}/retry?supersede=true")
    assert (refused.status_code, refused.json()["code"]) == (409, "OperationFinished")


def test_a_retry_waits_or_takes_over(api: APIClient, serving: SimulatedNode) -> None:
    first = ask(api, A1).json()["id"]
    end(api, serving, first, "cancelled")
    other = ask(api, TWO).json()["id"]
    refused = api.post(f"/api/v1/operations/{first}/retry")
    assert (refused.status_code, refused.json()["operation"]) == (409, other)
    taken = api.post(f"/api/v1/operations/{first}/retry?supersede=true")
    assert taken.status_code == 202
    assert Operation.objects.get(pk=other).state == "Canceled"
    settle(serving)
    shown = as_it_is(api)
    assert (shown["environment"], shown["instance_count"]) == ({"APP_A": "1"}, 1)
