"""The experiment of an endpoint over REST: its arms, and who is told of them."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from controlplane.accounts.models import Project
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.metrics.models import GatewayTotal
from controlplane.operations.models import Rollout
from tests.support.deployment_rows import deployment_add
from tests.support.gateway_counts import counted
from tests.support.placed_replicas import blue_and_green
from tests.support.project_world import member

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
EXPERIMENT = f"{DIGITS}/experiment"
QUERIES, METRICS_QUERIES = 8, 6  # however many arms there are


@pytest.fixture
def split(db: None) -> None:
    blue_and_green()
    Endpoint.objects.update(
        traffic={"blue": 75, "green": 25}, created_at=timezone.now() - timedelta(hours=3)
    )
    now = time.time()
    for before in range(20):
        seen(now - 2 * before, blue=(90, 0), green=(30, 3))


def seen(at: float, **arms: tuple[int, int]) -> None:
    """Counted as gateways report it: samples, and what they answered in all."""
    counted(at, **arms)
    for name in arms:
        GatewayTotal.objects.get_or_create(endpoint="digits", deployment=name)


def shown(api: APIClient, query: str = "") -> dict[str, Any]:
    answer = api.get(f"{EXPERIMENT}{query}")
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_arms_are_shown_with_what_was_measured(api: APIClient, split: None) -> None:
    body = shown(api)
    blue, green = body["arms"]
    assert (body["baseline"], blue["deployment"], green["deployment"]) == ("blue", "blue", "green")
    assert (blue["asked_percent"], blue["measured_percent"]) == (75, 75.0)
    assert (green["requests"], green["failed"], green["failed_share"]) == (600, 60, 0.1)
    assert green["failed_low"] < 0.1 < green["failed_high"]
    assert green["p50_us"] == pytest.approx(blue["p50_us"])
    assert (green["verdict"], blue["differences"]) == ("worse", [])
    assert "60 of 600 of green" in green["text"]
    assert green["differences"][0]["worse"] > 0.993
    assert (body["notes"], green["golden"], green["answers"]) == ([], None, None)


def test_another_baseline_and_a_shorter_time(api: APIClient, split: None) -> None:
    seen(time.time() - 1800, blue=(1000, 0), green=(1000, 0))
    assert shown(api, "?range=60")["arms"][0]["requests"] == 1800
    body = shown(api, "?baseline=green&range=3600")
    assert [arm["deployment"] for arm in body["arms"]] == ["green", "blue"]
    assert [arm["requests"] for arm in body["arms"]] == [1600, 2800]
    refused = api.get(f"{EXPERIMENT}?baseline=red")
    assert (refused.status_code, refused.json()["code"]) == (404, "DeploymentNotFound")
    assert "blue, green" in refused.json()["detail"]
    assert api.get(f"{EXPERIMENT}?range=59").status_code == 400


def test_what_was_counted_before_the_endpoint_was_made_is_not_told(
    api: APIClient, split: None
) -> None:
    Endpoint.objects.update(created_at=timezone.now())
    assert [arm["requests"] for arm in shown(api)["arms"]] == [0, 0]
    assert shown(api)["arms"][1]["verdict"] == "too_little_data"
    assert shown(api)["arms"][1]["missing"] == 200


def test_a_rule_makes_an_arm_and_what_it_does_to_the_figures_is_said(
    api: APIClient, split: None
) -> None:
    rule = {"header": "x-group", "exact": "testers", "deployment": "green"}
    body = {"traffic": {"blue": 100}, "traffic_rules": [rule], "sticky": {"header": "x-user"}}
    assert api.put(f"{DIGITS}/traffic", body, format="json").status_code == 200
    found = shown(api)
    green = found["arms"][1]
    assert (green["asked_percent"], green["rules"]) == (0, ["x-group = testers -> green"])
    assert ["rule" in note or "lot" in note for note in found["notes"]] == [True, True]
    assert found["changed_at"] is not None
    api.put(f"{DIGITS}/traffic", {"traffic": {}, "traffic_rules": []}, format="json")
    assert (shown(api)["arms"], shown(api)["baseline"]) == ([], "")


def test_what_rollouts_learned_of_the_answers_is_of_what_it_runs_now(
    api: APIClient, split: None
) -> None:
    row = Endpoint.objects.get()
    golden = {"at": 1e9, "revision": 1, "cases": 3, "wrong": ["'eight' of digits"],
              "unanswered": [], "slow": False}  # fmt: skip
    same = {"candidate": [2, 30], "stable": [0, 120], "weights": [0.0] * 5, "unanswered": 0,
            "refused": [], "example": "scores"}  # fmt: skip
    green = Deployment.objects.get(name="green")
    made: dict[str, Any] = {
        "endpoint": row, "candidate": "green", "plan": {}, "previous_traffic": {}, "stages": [],
        "memory": {}, "samples_until": 0, "created_by": "dora", "state": "withdrawn",
        "golden": golden, "compared": same,
    }  # fmt: skip
    Rollout.objects.create(id="o", revision=green.revision.number + 1, **made)
    assert shown(api)["arms"][1]["golden"] is None
    Rollout.objects.create(id="n", revision=green.revision.number, **made)
    found = shown(api)["arms"][1]
    assert (found["golden"]["cases"], found["golden"]["wrong"]) == (3, 1)
    assert "'eight' of digits" in found["golden"]["text"]
    assert (found["answers"]["differed"], found["answers"]["inputs"]) == (2, 30)


def test_more_arms_take_no_more_queries(
    api: APIClient, split: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    def asked(arms: int) -> None:
        with (
            django_assert_max_num_queries(QUERIES),
            django_assert_max_num_queries(METRICS_QUERIES, using="metrics"),
        ):
            assert len(shown(api)["arms"]) == arms

    asked(2)
    endpoint = Endpoint.objects.get()
    version = Deployment.objects.get(name="blue").revision.model_version
    names = [f"arm{number}" for number in range(8)]
    for name in names:
        deployment_add(endpoint, version, name)
    Endpoint.objects.update(traffic=dict.fromkeys((*names, "blue", "green"), 10))
    seen(time.time(), **dict.fromkeys(names, (10, 0)))
    asked(10)


def test_somebody_of_another_project_is_told_nothing(split: None) -> None:
    stranger = APIClient()
    stranger.force_authenticate(member(Project.objects.create(name="other").name, "deployer"))
    answer = stranger.get(EXPERIMENT)
    assert (answer.status_code, answer.json()["code"]) == (404, "EndpointNotFound")
    mate = APIClient()
    mate.force_authenticate(member(Endpoint.objects.get().project_name, "viewer", "tom"))
    assert mate.get(EXPERIMENT).status_code == 200
    rules = {"traffic_rules": []}
    for caller, status in ((stranger, 404), (mate, 403)):
        assert caller.put(f"{DIGITS}/traffic", rules, format="json").status_code == status
