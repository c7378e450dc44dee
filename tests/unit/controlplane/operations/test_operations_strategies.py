"""Rollouts that send copies first, that switch at once, and whose replicas have nothing left."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint, Replica
from controlplane.metrics.models import GatewayTotal
from controlplane.nodes.models import Node
from controlplane.operations.models import Rollout
from controlplane.operations.services import autoscale, rollouts_look
from tests.support.gateway_counts import counted
from tests.support.placed_replicas import blue_and_green
from tests.support.replica_counts import carried

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
ROLLOUTS = f"{DIGITS}/rollouts"
SHADOW: dict[str, Any] = {
    "deployment": "green",
    "steps": [{"percent": 50, "hold_s": 60}, {"percent": 100}],
    "shadow": {"percent": 20, "hold_s": 10},
    "min_requests": 20,
}
SWITCH: dict[str, Any] = {
    "deployment": "green",
    "strategy": "blue_green",
    "steps": [{"percent": 0, "hold_s": 10}, {"percent": 100, "hold_s": 60}],
    "min_requests": 100,
}


@pytest.fixture(autouse=True)
def ready(db: None) -> None:
    blue_and_green()
    Node.objects.update(info={"cpu_count": 4})
    before = timezone.now() - timedelta(hours=3)
    Endpoint.objects.update(created_at=before)
    DeploymentRevision.objects.update(created_at=before)
    GatewayTotal.objects.create(endpoint="digits", deployment="blue")


def begun(api: APIClient, body: dict[str, Any]) -> str:
    answer = api.post(ROLLOUTS, body, format="json")
    assert answer.status_code == 201, answer.content
    return f"{ROLLOUTS}/{answer.json()['id']}"


def since() -> float:
    return float(Rollout.objects.get().memory["since"])


def look(at: float, **arms: tuple[int, int]) -> None:
    counted(at, **arms)
    rollouts_look(now=datetime.fromtimestamp(at, UTC))


def shares() -> tuple[dict[str, int], dict[str, int]]:
    row = Endpoint.objects.get()
    return dict(row.traffic), dict(row.mirror_traffic)


def copies(at: float, blue: int, green: int, failed: int = 0, **green_too: Any) -> None:
    carried(at, "blue", answered=blue)
    carried(at, "green", answered=green - failed, failed=failed, **green_too)


def test_copies_come_first_and_then_the_steps(api: APIClient) -> None:
    rollout = begun(api, SHADOW)
    assert shares() == ({"blue": 100}, {"green": 20})
    start = since()
    copies(start - 1, 100, 0)
    copies(start + 5, 200, 15)
    look(start + 10, blue=(200, 0))
    shown = api.get(rollout).json()
    assert (shown["percent"], shown["strategy"], shown["shadow"]["percent"]) == (0, "steps", 20)
    assert [(one["percent"], one["mirror"]) for one in shown["stages"]] == [
        (0, 20),
        (50, 0),
        (100, 0),
    ]
    assert shown["reason"].startswith("15 of 20 copies answered by green: 5 are missing before")
    assert shown["stages"][0]["requests"] == 15
    copies(start + 11, 300, 40)
    look(start + 16, blue=(200, 0))
    assert shares() == ({"blue": 50, "green": 50}, {})
    shown = api.get(rollout).json()
    assert [one["status"] for one in shown["stages"]] == ["succeeded", "running", "pending"]
    assert shown["stages"][0]["requests"] == 40
    assert shown["figures"][0]["of"] == 40  # errors
    step = Event.objects.get(verb="rollout.step")
    assert "40 copies in 16 s, and no guardrail is broken: 50 % now." in step.message


@pytest.mark.parametrize("how", ["failed", "error_answers"])
def test_a_candidate_that_fails_on_copies_never_gets_traffic(api: APIClient, how: str) -> None:
    rollout = begun(api, SHADOW)
    start = since()
    copies(start - 1, 100, 0)
    copies(start + 5, 300, 40, **{how: 8})
    look(start + 10, blue=(200, 0))
    shown = api.get(rollout).json()
    assert (shown["state"], shown["cause"]) == ("Withdrawn", "errors")
    assert "20.0 % of green's requests failed (8 of 40)" in shown["reason"]
    assert shares() == ({"blue": 100}, {})


def test_copies_are_judged_as_soon_as_both_versions_have_told_of_them(api: APIClient) -> None:
    rollout = begun(api, SHADOW)
    start = since()
    copies(start - 1, 100, 0)
    copies(start + 5, 200, 10)
    carried(start + 6, "green", answered=12, failed=3)
    look(start + 6.1, blue=(200, 0))
    assert api.get(rollout).json()["stages"][0]["requests"] == 10
    carried(start + 6.2, "blue", answered=230)
    look(start + 6.3, blue=(0, 0))  # blue has not told of the sixth second, but of a bit more
    assert api.get(rollout).json()["stages"][0]["requests"] == 10
    carried(start + 7, "green", answered=15, failed=3)
    look(start + 7.1, blue=(0, 0))
    shown = api.get(rollout).json()
    assert shown["stages"][0]["requests"] == 15
    assert (shown["figures"][0]["bad"], shown["figures"][0]["stable_of"]) == (3, 130)


def test_a_replica_that_has_fallen_silent_does_not_keep_copies_from_being_judged(
    api: APIClient,
) -> None:
    rollout = begun(api, SHADOW)
    start = since()
    copies(start - 1, 100, 0)
    copies(start + 1, 200, 10)
    carried(start + 8, "green", answered=30)
    look(start + 8, blue=(200, 0))
    assert api.get(rollout).json()["stages"][0]["requests"] == 30
    carried(start + 9, "blue", answered=900)  # what it tells now is counted now
    carried(start + 9, "green", answered=31)
    look(start + 9, blue=(200, 0))
    assert api.get(rollout).json()["figures"][0]["stable_of"] == 800


@pytest.mark.parametrize("how", ["abort", "supersede", "promote"])
def test_copies_end_with_it(api: APIClient, how: str) -> None:
    rollout = begun(api, SHADOW)
    if how == "supersede":
        body = {"traffic": {"blue": 100}}
        assert api.put(f"{DIGITS}/traffic", body, format="json").status_code == 409
        answer = api.put(f"{DIGITS}/traffic?supersede=true", body, format="json")
    else:
        answer = api.post(f"{rollout}/{how}")
    assert answer.status_code == 200, answer.content
    assert shares() == ({"green": 100} if how == "promote" else {"blue": 100}, {})


@pytest.mark.parametrize("mirror", [{}, {"green": 5}])
def test_copies_of_a_rollout_are_its_own(api: APIClient, mirror: dict[str, int]) -> None:
    rollout = begun(api, SHADOW)
    for path in ("/mirror", ""):
        answer = api.patch(f"{DIGITS}{path}", {"mirror_traffic": {"green": 7}}, format="json")
        assert answer.status_code == 409, answer.content
        assert answer.json()["code"] == "RolloutInProgress"
    body = {"mirror_traffic": mirror}
    answer = api.put(f"{DIGITS}/mirror?supersede=true", body, format="json")
    assert answer.status_code == 200, answer.content
    assert api.get(rollout).json()["state"] == "Superseded"
    assert shares() == ({"blue": 100}, mirror)


def test_copies_that_somebody_else_took_away_end_it(api: APIClient) -> None:
    rollout = begun(api, SHADOW)
    Endpoint.objects.update(mirror_traffic={})
    look(since() + 2, blue=(100, 0))
    assert api.get(rollout).json()["cause"] == "traffic_changed"


def test_what_else_gets_copies_is_in_the_way(api: APIClient) -> None:
    Endpoint.objects.update(mirror_traffic={"teal": 10})
    answer = api.post(ROLLOUTS, SHADOW, format="json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["field"] == "shadow"
    assert "teal gets copies of requests already" in answer.content.decode()


@pytest.mark.parametrize("body", [SHADOW, SWITCH])
def test_a_candidate_that_is_not_ready_begins_neither(api: APIClient, body: dict[str, Any]) -> None:
    Replica.objects.filter(deployment__name="green").update(state="starting")
    answer = api.post(ROLLOUTS, body, format="json")
    assert answer.json()["code"] == "TrafficInvalid"
    assert shares() == ({"blue": 100}, {})


def test_a_switch_is_watched_and_then_stays(api: APIClient) -> None:
    counted(timezone.now().timestamp() - 5, blue=(3000, 3))
    rollout = begun(api, SWITCH)
    assert shares() == ({"blue": 100}, {})
    look(since() + 11, blue=(200, 0))
    assert shares() == ({"green": 100}, {})
    assert Replica.objects.filter(deployment__name="blue", desired="running").count() == 1
    start = since()
    look(start + 10, green=(400, 0))
    shown = api.get(rollout).json()
    assert (shown["state"], shown["percent"], shown["cause"]) == ("Running", 100, "hold_time")
    assert shown["figures"][0]["stable_of"] == 3200
    look(start + 61, green=(400, 1))
    shown = api.get(rollout).json()
    assert (shown["state"], shown["percent"]) == ("Succeeded", 100)
    assert shown["reason"] == (
        "800 requests since the switch in 61 s, and no guardrail is broken: it stays."
    )
    assert {one["status"] for one in shown["stages"]} == {"succeeded"}


def test_what_another_revision_of_the_stable_version_did_is_no_reference(api: APIClient) -> None:
    counted(timezone.now().timestamp() - 5, blue=(3000, 3))
    DeploymentRevision.objects.filter(deployment__name="blue").update(created_at=timezone.now())
    begun(api, SWITCH)
    assert Rollout.objects.get().memory["reference"] == [0, 0, 0]


def test_a_switch_goes_back_where_the_candidate_fails(api: APIClient) -> None:
    counted(timezone.now().timestamp() - 5, blue=(3000, 3))
    rollout = begun(api, SWITCH)
    look(since() + 11, blue=(200, 0))
    look(since() + 2, green=(100, 8))
    shown = api.get(rollout).json()
    assert (shown["state"], shown["cause"]) == ("Withdrawn", "errors")
    assert "(8 of 100), of the stable version's 0.09 % (3 of 3,200, before it)" in shown["reason"]
    assert shown["reason"].endswith("Withdrawn, back to blue 100 %.")
    assert shares() == ({"blue": 100}, {})


def test_while_a_switch_is_watched_the_old_version_is_not_deleted(api: APIClient) -> None:
    counted(timezone.now().timestamp() - 5, blue=(3000, 3))
    begun(api, SWITCH)
    look(since() + 11, blue=(200, 0))
    answer = api.delete(f"{DIGITS}/deployments/blue?force=true")
    assert answer.json()["code"] == "RolloutInProgress"


@pytest.mark.parametrize(("body", "count"), [(SWITCH, 3), (SHADOW, 1)])
def test_until_a_switch_is_over_no_policy_takes_replicas_of_the_old_version(
    api: APIClient, body: dict[str, Any], count: int
) -> None:
    begun(api, body)
    policy = {"min": 1, "max": 1, "targets": {"in_flight": 4}}
    Deployment.objects.filter(name="blue").update(instance_count=3, autoscale=policy)
    autoscale(now=timezone.now())
    row = Deployment.objects.get(name="blue")
    assert row.instance_count == count
    blocked = row.autoscaler.decision.get("blocked_by")
    assert blocked == ("RolloutInProgress" if body is SWITCH else "")


def test_replicas_with_nothing_left_hold_the_next_step(api: APIClient) -> None:
    body = {
        **SWITCH,
        "strategy": "steps",
        "steps": [{"percent": 50, "hold_s": 5}, {"percent": 100}],
    }
    rollout = begun(api, body)
    start = since()
    for at, seconds in ((start - 2, 0.0), (start + 8, 39.0)):  # of four processors
        carried(at, "green", answered=10, cpu_seconds=seconds)
        carried(at, "blue", answered=10, cpu_seconds=seconds / 4)
    look(start + 9, blue=(100, 0), green=(100, 0))
    shown = api.get(rollout).json()
    assert shown["cause"] == "saturated"
    assert shown["reason"].startswith(
        "Replicas of green use 98 % of their processors for 0 s, of the stable version 24 %"
    )
    assert Event.objects.get(verb="rollout.held").data["cause"] == "saturated"
    told = next(one for one in shown["figures"] if one["measure"] == "saturation")
    assert (told["counts"], told["bad"], told["of"], told["stable_bad"]) == ("percent", 98, 100, 24)
