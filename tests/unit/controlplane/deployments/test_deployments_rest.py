"""The rest of REST: shares that are changed one by one, restarts, an endpoint's own OpenAPI
document, hints on every error, and how many queries lists may take."""

from datetime import UTC, datetime
from typing import Any

import jsonschema_rs
import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from controlplane.core import events
from controlplane.deployments.models import Endpoint, Replica
from controlplane.metrics.models import LogLine
from controlplane.operations import services
from controlplane.operations.models import Operation
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
BLUE = f"{DIGITS}/deployments/blue"


@pytest.fixture
def serving(api: APIClient) -> SimulatedNode:
    """Blue has all traffic, green none; both are ready."""
    node = SimulatedNode()
    for content in (b"one", b"two"):
        model_register(content=content)
        body = {"model": "digits", "traffic": 100 if content == b"one" else 0}
        if content == b"two":
            api.post(f"{DIGITS}/deployments", {**body, "name": "green"}, format="json")
        else:
            api.post("/api/v1/deploy", body, format="json")
        node.bring_up()
        gateway_confirms()
    return node


def test_each_replica_says_which_runtime_it_was_started_with(
    api: APIClient, serving: SimulatedNode
) -> None:
    """Those that an upgrade adopted go on with the old one, and nothing showed it."""

    def shown() -> set[str]:
        rows = api.get(DIGITS).json()["deployments"]
        return {replica["runtime_version"] for row in rows for replica in row["replicas"]}

    assert shown() == {""}, "an agent of before says nothing"
    serving.say("ready", runtime_version="0.0.9")
    assert shown() == {"0.0.9"}


def patch(api: APIClient, path: str, **body: Any) -> Any:
    return api.patch(f"{DIGITS}/{path}", body, format="json")


def test_shares_are_read_and_changed_one_by_one(api: APIClient, serving: SimulatedNode) -> None:
    read = api.get(f"{DIGITS}/traffic")
    assert read.json() == {"traffic": {"blue": 100}, "traffic_rules": [], "sticky": None}
    assert read["ETag"] == api.get(DIGITS)["ETag"]
    moved = patch(api, "traffic", traffic={"green": 10, "blue": 90})
    assert moved.json()["traffic"] == {"blue": 90, "green": 10}
    swapped = patch(api, "traffic", traffic={"green": 0, "blue": 100})
    assert swapped.json()["traffic"] == {"blue": 100}
    refused = patch(api, "traffic", traffic={"green": 10})
    assert (refused.status_code, refused.json()["code"]) == (400, "TrafficInvalid")
    stale = api.patch(
        f"{DIGITS}/traffic", {"traffic": {"blue": 0}}, format="json", HTTP_IF_MATCH=read["ETag"]
    )
    assert stale.status_code == 200  # it is again what was read
    assert api.get(f"{DIGITS}/traffic").json()["traffic"] == {}
    assert api.get(f"{DIGITS}/mirror").json() == {"mirror_traffic": {}}


def test_a_restart_replaces_replicas_without_a_gap(api: APIClient, serving: SimulatedNode) -> None:
    old = Replica.objects.get(deployment__name="blue")
    answer = api.post(f"{BLUE}/restart")
    assert answer.status_code == 202
    again = api.post(f"{BLUE}/restart")
    assert (again.status_code, again.json()["code"]) == (409, "OperationInProgress")
    fresh = Replica.objects.exclude(pk=old.pk).get(deployment__name="blue")
    old.refresh_from_db()
    assert (old.desired, fresh.desired) == ("running", "running")
    serving.bring_up()
    gateway_confirms()
    gateway_confirms()
    services.operations_tick(now=timezone.now())
    old.refresh_from_db()
    assert old.desired == "stopped"
    shown = api.get(BLUE).json()
    assert (shown["provisioning_state"], shown["revision"]) == ("Succeeded", 2)
    revisions = api.get(f"{BLUE}/revisions").json()["items"]
    assert [row["cause"] for row in revisions] == ["restarted", "created"]
    api.post(f"{BLUE}/stop?force=true")
    serving.desired()
    serving.report()
    gateway_confirms()
    services.operations_tick(now=timezone.now())
    paused = api.post(f"{BLUE}/restart")
    assert paused.status_code == 409


def test_an_endpoint_describes_what_it_takes(api: APIClient, serving: SimulatedNode) -> None:
    assert api.get(DIGITS).json()["openapi_uri"].endswith("/api/v1/endpoints/digits/openapi.json")
    found = api.get(f"{DIGITS}/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    assert found["servers"][0]["url"].endswith("/endpoints/digits")
    assert "/v2/models/digits/infer" in found["paths"]
    schema = {
        "$ref": "#/components/schemas/digits.Request",
        "components": found["components"],
    }
    check = jsonschema_rs.validator_for(schema)
    good: dict[str, Any] = {
        "name": "image", "datatype": "FP32", "shape": [2, 1, 8, 8], "data": [0.5] * 128
    }  # fmt: skip
    assert check.is_valid({"inputs": [good]})
    for wrong in (
        {"name": "picture"},
        {"datatype": "INT8"},
        {"shape": [9, 1, 8, 8]},  # more than max_batch_size
        {"shape": [1, 8, 8]},
        {"data": ["text"]},
    ):
        assert not check.is_valid({"inputs": [good | wrong]}), wrong
    assert not check.is_valid({"inputs": []})


def test_nothing_deployed_describes_nothing(api: APIClient) -> None:
    api.post("/api/v1/endpoints", {"name": "empty"}, format="json")
    answer = api.get("/api/v1/endpoints/empty/openapi.json")
    assert (answer.status_code, answer.json()["code"]) == (404, "DeploymentNotFound")


@pytest.mark.parametrize(
    ("method", "path", "body", "content_type", "status"),
    [
        ("GET", "/api/v1/nothing", "", "application/json", 404),
        ("PUT", "/api/v1/models", "{}", "application/json", 405),
        ("POST", "/api/v1/endpoints", "no json", "application/json", 400),
        ("POST", "/api/v1/endpoints", "{}", "application/json", 400),
        ("POST", "/api/v1/endpoints", "a: b", "text/yaml", 415),
        ("GET", "/api/v1/events?since=soon", "", "application/json", 400),
    ],
)
def test_every_error_says_what_to_try(
    api: APIClient, method: str, path: str, body: str, content_type: str, status: int
) -> None:
    answer = api.generic(method, path, body, content_type)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["hints"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["d", "c", "b", "a"]),
        ({"kind": "deploy"}, ["c", "a"]),
        ({"kind": "deploy", "state": "Failed"}, ["c"]),
        ({"actor": "dora"}, ["b"]),
        ({"actor": "dor"}, []),
        ({"q": "digi"}, ["c", "b", "a"]),
        ({"q": "GREEN"}, ["d"]),
        ({"since": "2026-11-02T00:00:00Z"}, ["d", "c", "b"]),
        ({"since": "2026-11-02T01:00:00+01:00", "until": "2026-11-04T00:00:00Z"}, ["c", "b"]),
    ],
)
def test_operations_are_filtered(api: APIClient, query: dict[str, str], found: list[str]) -> None:
    rows = [
        ("a", "deploy", "digits", "blue", "Succeeded", "maria"),
        ("b", "scale", "digits", "blue", "Succeeded", "dora"),
        ("c", "deploy", "digits", "blue", "Failed", "maria"),
        ("d", "delete-deployment", "faces", "green", "Running", "maria"),
    ]
    for day, (pk, kind, endpoint, deployment, state, actor) in enumerate(rows, start=1):
        at = datetime(2026, 11, day, tzinfo=UTC)
        row = Operation.objects.create(
            id=pk,
            kind=kind,
            endpoint=endpoint,
            deployment=deployment,
            state=state,
            created_by=actor,
            deadline_at=at,
        )
        Operation.objects.filter(pk=row.pk).update(created_at=at)
    answer = api.get("/api/v1/operations", query)
    assert [item["id"] for item in answer.json()["items"]] == found


@pytest.mark.parametrize("query", [{"kind": "rename"}, {"state": "Done"}, {"since": "yesterday"}])
def test_a_wrong_filter_of_operations_is_named(api: APIClient, query: dict[str, str]) -> None:
    answer = api.get("/api/v1/operations", query)
    assert answer.status_code == 400
    assert answer.json()["field"] == next(iter(query))


LISTS = {
    "/api/v1/endpoints": 9,
    f"{DIGITS}/deployments": 9,
    f"{BLUE}/revisions": 9,
    "/api/v1/operations": 4,
    "/api/v1/events": 4,
    "/api/v1/nodes": 5,
    "/api/v1/models": 9,
    "/api/v1/models/digits/versions": 13,
    "/api/v1/instance-types": 6,
    "/api/v1/try-loads": 4,
    "/api/v1/overview": 22,
}


def test_lists_take_no_more_queries_when_there_is_more_to_show(
    api: APIClient,
    admin_api: APIClient,
    serving: SimulatedNode,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for index in range(4):
        name = f"more-{index}"
        model_register(name, content=name.encode())
        model_register("digits", content=name.encode())
        SimulatedNode(name)
        admin_api.post("/api/v1/instance-types", {"name": name}, format="json")
        api.post("/api/v1/deploy", {"model": name, "instance_count": 2}, format="json")
        api.post("/api/v1/try-loads", {"model": name, "node": name}, format="json")
        api.post(f"{BLUE}/update", {"environment": {"APP_N": name}}, format="json")
        serving.bring_up()
        gateway_confirms()
        events.record(actor="dora", verb="x", subject="x", message="x")
    assert Endpoint.objects.count() == 5
    for path, most in LISTS.items():
        api.get(path)
        with django_assert_max_num_queries(most, info=path):
            answer = api.get(path)
        assert answer.status_code == 200, path


def test_replicas_and_their_number_have_addresses(api: APIClient, serving: SimulatedNode) -> None:
    (replica,) = api.get(f"{BLUE}/replicas").json()["items"]
    assert (replica["node"], replica["state"], replica["ordinal"]) == ("local", "ready", 0)
    assert api.get(f"{BLUE}/replicas?q=elsewhere").json()["items"] == []
    scaled = api.post(f"{BLUE}/scale", {"instance_count": 2}, format="json")
    assert (scaled.status_code, scaled.json()["kind"]) == (202, "scale")
    first = api.get(f"{BLUE}/replicas?limit=1").json()
    second = api.get(f"{BLUE}/replicas?limit=1&cursor={first['next_cursor']}").json()
    assert [page["items"][0]["ordinal"] for page in (first, second)] == [0, 1]
    assert second["next_cursor"] is None
    assert api.post(f"{BLUE}/scale", {"instance_count": 0}, format="json").status_code == 400
    assert api.post(f"{BLUE}/scale", {}, format="json").json()["field"] == "instance_count"


def test_copies_are_changed_one_by_one(api: APIClient, serving: SimulatedNode) -> None:
    begun = patch(api, "mirror", mirror_traffic={"green": 10})
    assert begun.json()["mirror_traffic"] == {"green": 10}
    assert patch(api, "mirror", mirror_traffic={}).json()["mirror_traffic"] == {"green": 10}
    assert patch(api, "mirror", mirror_traffic={"blue": 5}).json()["code"] == "MirrorInvalid"
    assert patch(api, "mirror", mirror_traffic={"green": 0}).json()["mirror_traffic"] == {}


def test_logs_by_container_and_time(api: APIClient, serving: SimulatedNode) -> None:
    for seq, (stream, at) in enumerate(
        [("storage-initializer", 100.0), ("inference-server", 200.0), ("inference-server", 300.0)]
    ):
        LogLine.objects.create(
            endpoint="digits", deployment="blue", replica_id="r", stream=stream, seq=seq, at=at,
            text=str(seq),
        )  # fmt: skip

    def texts(query: str) -> list[str]:
        return [line["text"] for line in api.get(f"{BLUE}/logs?{query}").json()["lines"]]

    assert texts("container=storage-initializer") == ["0"]
    assert texts("stream=inference-server&since=1970-01-01T00:05:00Z") == ["2"]
    assert texts("since=1970-01-01T00:03:20Z") == ["1", "2"]
    refused = api.get(f"{BLUE}/logs?container=sidecar").json()
    assert (refused["status"], refused["field"]) == (400, "container")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/v1/deploy", {"model": "digits", "endpoint": "1st"}, "endpoint"),
        ("/api/v1/deploy", {"model": "digits", "deployment": "no_good"}, "deployment"),
        (f"{DIGITS}/deployments", {"model": "digits", "name": "no_good"}, "name"),
        ("/api/v1/endpoints", {"name": "1st"}, "name"),
    ],
)
def test_a_bad_name_is_blamed_where_it_stands(
    api: APIClient, serving: SimulatedNode, path: str, body: dict[str, Any], field: str
) -> None:
    answer = api.post(path, body, format="json")
    told = answer.json()
    assert (answer.status_code, told["code"], told["field"]) == (400, "NameInvalid", field)
    assert told["detail"].startswith(f"{field}: {body[field]!r} cannot be a name")
    assert "expected 3 to 32 letters" in told["detail"]
