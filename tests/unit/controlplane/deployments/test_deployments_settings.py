"""Settings that are given with a deployment: all in one call, refused by field and in words."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.deployments.models import Deployment, Endpoint, InstanceType
from controlplane.deployments.naming import variable_problem
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

PROBE = {
    "initial_delay": 0, "period": 1, "timeout": 1, "success_threshold": 2, "failure_threshold": 3
}  # fmt: skip
SETTINGS: dict[str, Any] = {
    "environment": {"TZ": "UTC"},
    "secret_environment": {"APP_TOKEN": "t0ken"},
    "request_timeout_ms": 5000,
    "max_concurrent_requests_per_instance": 4,
    "max_queue_wait_ms": 250,
    "retries": False,
    "readiness_probe": PROBE,
    "liveness_probe": PROBE,
}
database = pytest.mark.django_db(databases=["default", "metrics"])


def deploy(api: APIClient, **settings: Any) -> Any:
    return api.post("/api/v1/deploy", {"model": "digits", **settings}, format="json")


def up(api: APIClient, node: SimulatedNode, **settings: Any) -> str:
    """Deploy, and let it come up; the name of what was made."""
    answer = deploy(api, **settings)
    assert answer.status_code == 202, answer.content
    node.bring_up()
    gateway_confirms()
    return str(answer.json()["deployment"])


@database
def test_one_call_sets_all_of_them(api: APIClient) -> None:
    model_register()
    assert deploy(api, **SETTINGS).status_code == 202
    shown = api.get("/api/v1/endpoints/digits/deployments/blue").json()
    assert {name: shown[name] for name in SETTINGS} == {
        **SETTINGS,
        "secret_environment": ["APP_TOKEN"],
    }


@database
@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        (
            {"request_timeout_ms": 0},
            "request_timeout_ms",
            "0 is out of range: expected 1 to 3600000.",
        ),
        (
            {"max_concurrent_requests_per_instance": 10_001},
            "max_concurrent_requests_per_instance",
            "10001 is out of range: expected 1 to 10000.",
        ),
        (
            {"max_queue_wait_ms": -1},
            "max_queue_wait_ms",
            "-1 is out of range: expected 0 to 3600000.",
        ),
        (
            {"max_queue_wait_ms": "soon"},
            "max_queue_wait_ms",
            '"soon", expected a whole number 0 to 3600000 or null.',
        ),
        (
            {"readiness_probe": {"period": 0}},
            "readiness_probe.period",
            "0 is out of range: expected 1 to 3600.",
        ),
        (
            {"liveness_probe": {"failure_threshold": 1001}},
            "liveness_probe.failure_threshold",
            "1001 is out of range: expected 1 to 1000.",
        ),
        (
            {"environment": {"A=B": "1"}},
            "environment.A=B",
            "'A=B' cannot be a variable: expected printable characters without '='.",
        ),
        (
            {"secret_environment": {"": "1"}},
            "secret_environment.",
            "'' cannot be a variable: expected printable characters without '='.",
        ),
        ({"environment": {"EMPTY": ""}}, "environment.EMPTY", "expected a text that is not empty."),
    ],
)
def test_what_cannot_be_is_refused_by_field_and_nothing_is_made(
    api: APIClient, said: dict[str, Any], field: str, words: str
) -> None:
    model_register()
    answer = deploy(api, **said)
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert answer.json()["detail"].startswith(f"{field}: ")
    assert answer.json()["detail"].endswith(words)
    assert not Endpoint.objects.exists()


@database
def test_what_runs_with_other_settings_is_not_what_was_asked_for(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    assert up(api, node, environment={"TZ": "UTC"}) == "blue"
    assert up(api, node) == "blue"
    assert up(api, node, environment={"TZ": "UTC"}) == "blue"
    assert up(api, node, environment={"TZ": "CET"}) == "green"
    assert Deployment.objects.get(name="green").revision.settings.environment == {"TZ": "CET"}
    assert Endpoint.objects.get().traffic == {"green": 100}
    assert up(api, node, secret_environment={"APP_TOKEN": "t"}) == "blue"
    assert up(api, node, max_queue_wait_ms=250) == "green"
    assert up(api, node, max_queue_wait_ms=250) == "green"
    assert up(api, node, max_queue_wait_ms=None) == "green"  # nothing is asked for
    assert up(api, node, max_queue_wait_ms=251) == "blue"
    assert up(api, node, anti_affinity="required") == "green"
    assert up(api, node, anti_affinity="required") == "green"
    InstanceType.objects.create(name="small")
    assert up(api, node, instance_type="small") == "blue"
    assert up(api, node, instance_type="small") == "blue"


@database
def test_the_same_under_way_with_other_settings_has_to_wait(api: APIClient) -> None:
    model_register()
    first = deploy(api, retries=False).json()["id"]
    assert deploy(api, retries=False).json()["id"] == first
    other = deploy(api, retries=False, request_timeout_ms=100)
    assert (other.status_code, other.json()["code"]) == (409, "OperationInProgress")


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("PATH", True),
        ("ümlaut 1", True),
        ("", False),
        ("A=", False),
        ("A\nB", False),
        ("\0", False),
    ],
)
def test_names_of_variables(name: str, possible: bool) -> None:
    assert (variable_problem(name) is None) == possible


def flags(node: SimulatedNode) -> list[tuple[str, ...]]:
    return [replica.runtime_args for replica in node.desired().replicas]


@database
def test_a_cap_on_waiting_reaches_the_runtimes_with_new_replicas(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    up(api, node)
    assert flags(node) == [()]
    blue = "/api/v1/endpoints/digits/deployments/blue"
    changed = api.patch(blue, {"max_queue_wait_ms": 250}, format="json")
    assert changed.status_code == 202
    # the old one answers until the new one does
    assert sorted(flags(node)) == [(), ("--max-queue-wait-ms=250",)]
    node.bring_up()
    gateway_confirms()
    same = api.post(f"{blue}/update", {"max_queue_wait_ms": 250}, format="json")
    assert (same.status_code, same.json()["code"]) == (409, "Conflict")
    other = api.post(f"{blue}/update", {"environment": {"APP_A": "b"}}, format="json")
    assert other.status_code == 202
    node.bring_up()
    gateway_confirms()
    assert api.get(blue).json()["max_queue_wait_ms"] == 250  # what is not said stays

    off = api.post(f"{blue}/update", {"max_queue_wait_ms": 0}, format="json")
    assert off.status_code == 202
    assert api.get(blue).json()["max_queue_wait_ms"] is None
    node.bring_up()
    gateway_confirms()
    back = api.post(f"{blue}/rollback", {"revision": 2}, format="json")
    assert back.status_code == 202
    assert api.get(blue).json()["max_queue_wait_ms"] == 250
    revisions = api.get(f"{blue}/revisions").json()["items"]
    assert [row["max_queue_wait_ms"] for row in revisions] == [250, None, 250, 250, None]
