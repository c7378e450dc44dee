"""The autoscaler carries out what it decides as a person would, and says what hinders it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Autoscaler, Deployment, Replica
from controlplane.operations.models import Operation
from controlplane.operations.services import (
    autoscale,
    autoscaling,
    nodes_drain,
    operations_tick,
)
from tests.support.carried_load import carry
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
BLUE = f"{DIGITS}/deployments/blue"
AT_ONCE = {"window_s": 0, "cooldown_s": 0}
POLICY: dict[str, Any] = {
    "min": 1, "max": 6, "targets": {"in_flight": 4}, "up": AT_ONCE, "down": AT_ONCE,
}  # fmt: skip


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    settle(node)
    policy_set(api)
    return node


def settle(*nodes: SimulatedNode) -> None:
    for node in nodes:
        node.bring_up()
    gateway_confirms()


def policy_set(api: APIClient, **changes: Any) -> None:
    answer = api.patch(BLUE, {"autoscale": {**POLICY, **changes}}, format="json")
    assert answer.status_code == 200, answer.content


def look(in_flight: float, now: datetime | None = None, **more: Any) -> dict[str, Any]:
    """What it decided on such a load."""
    now = now or timezone.now()
    carry(now, in_flight, **more)
    Autoscaler.objects.update(decided_at=None)
    assert autoscale(now=now) == 1
    return dict(Autoscaler.objects.get().decision)


def count() -> int:
    return Deployment.objects.get().instance_count


def test_more_load_brings_replicas_by_an_operation_of_its_own(
    api: APIClient, node: SimulatedNode
) -> None:
    decision = look(10.0)
    operation = Operation.objects.latest("created_at")
    assert (operation.kind, operation.created_by, operation.state) == (
        "scale",
        "autoscaler",
        "Running",
    )
    assert (count(), decision["wanted"], decision["blocked"]) == (3, 3, "")
    event = Event.objects.get(verb="deployment.autoscaled")
    assert (event.actor, event.data["before"], event.data["after"]) == (
        "autoscaler", {"instance_count": 1}, {"instance_count": 3},
    )  # fmt: skip
    assert event.message.startswith("blue: 3 replicas: 10 requests in flight, target 4 for each")
    settle(node)
    assert Operation.objects.latest("created_at").state == "Succeeded"
    shown = api.get(BLUE).json()
    assert shown["autoscale"]["max"] == 6
    assert shown["autoscaling"]["figures"] == {"in_flight": 10.0}
    assert shown["autoscaling"]["decided_at"] is not None


def test_callers_who_wait_for_each_answer_bring_replicas(
    api: APIClient, node: SimulatedNode
) -> None:
    """Four of them at one replica that does one at a time: three wait, for as long as they ask."""
    policy_set(api, targets={"in_flight": 1})
    now = timezone.now()
    for before in (8, 6, 4, 2, 0):
        decision = look(1.0, now - timedelta(seconds=before), pending=3.0, per_second=20.0)
    assert count() == 4, decision
    assert decision["reason"].startswith("4 replicas: 4 requests in flight all the time, target 1")
    assert decision["figures"] == {"in_flight": 4.0}


def test_less_load_takes_them_away_again(api: APIClient, node: SimulatedNode) -> None:
    look(10.0)
    settle(node)
    assert look(1.0)["wanted"] == 1
    settle(node)
    operations_tick(now=timezone.now())
    assert count() == 1
    assert Replica.objects.filter(desired="running").count() == 1


@pytest.mark.parametrize("leave_out", [1, 3], ids=["of one", "of all"])
def test_metrics_that_stop_take_nothing_away(
    api: APIClient, node: SimulatedNode, leave_out: int
) -> None:
    look(10.0)
    settle(node)
    decision = look(0.0, timezone.now() + timedelta(seconds=12), leave_out=leave_out)
    assert (decision["wanted"], count()) == (3, 3), decision["reason"]
    words = "1 of 3 replicas were not sampled" if leave_out == 1 else "nothing was measured"
    assert words in decision["reason"]


def test_what_no_node_can_take_is_said_once_and_not_begun(
    api: APIClient, node: SimulatedNode
) -> None:
    api.patch(BLUE, {"anti_affinity": "required"}, format="json")
    settle(node)
    operations_tick(now=timezone.now())
    before = Operation.objects.count()
    for _ in range(2):
        decision = look(10.0)
        assert (count(), decision["wanted"], decision["blocked_by"]) == (1, 3, "OutOfCapacity")
        assert "No node can take 2 of 3 replicas: " in decision["blocked"]
    assert Operation.objects.count() == before
    assert Event.objects.filter(verb="deployment.autoscaling_blocked").count() == 1
    other = SimulatedNode("second")
    decision = look(10.0)
    assert (count(), decision["blocked_by"]) == (2, "OutOfCapacity")
    settle(node, other)
    assert Operation.objects.latest("created_at").state == "Succeeded"


def test_it_waits_for_a_rollout_and_acts_after_it(api: APIClient, node: SimulatedNode) -> None:
    assert api.patch(BLUE, {"environment": {"APP_A": "1"}}, format="json").status_code == 202
    decision = look(10.0)
    assert (count(), decision["blocked_by"]) == (1, "OperationInProgress")
    assert decision["blocked"] == "It waits for: deploy digits/blue."
    settle(node)
    operations_tick(now=timezone.now())
    assert look(10.0)["blocked"] == ""
    assert count() == 3


def test_it_scales_while_a_node_is_drained_and_around_it(
    api: APIClient, node: SimulatedNode
) -> None:
    other = SimulatedNode("second")
    look(10.0)
    settle(node, other)
    nodes_drain(
        names=["local"], deadline=timedelta(minutes=5), force=False, actor="ada", now=timezone.now()
    )
    look(19.0)
    for _ in range(3):
        settle(node, other)
        operations_tick(now=timezone.now())
    running = Replica.objects.filter(desired="running")
    assert {row.node.name for row in running} == {"second"}
    assert sorted(row.ordinal for row in running) == [0, 1, 2, 3, 4]
    assert not Operation.objects.filter(finished_at__isnull=True).exists()


def test_of_two_that_look_at_once_one_acts(api: APIClient, node: SimulatedNode) -> None:
    look(0.0)
    now = timezone.now()
    rows = [autoscaling._under_policies()[0] for _ in range(2)]
    carry(now, 20.0)
    tracks = autoscaling.live_tracks(["digits"], now.timestamp() - 10, now.timestamp())
    for row in rows:
        autoscaling._look(row, tracks["digits", "blue"], autoscaling.Pace(2.0), now)
    assert Operation.objects.filter(created_by="autoscaler").count() == 1
    assert Autoscaler.objects.get().number == 2


def test_what_a_person_changed_meanwhile_stands(api: APIClient, node: SimulatedNode) -> None:
    now = timezone.now()
    (row,) = autoscaling._under_policies()
    carry(now, 20.0)
    tracks = autoscaling.live_tracks(["digits"], now.timestamp() - 10, now.timestamp())
    policy_set(api, max=2)
    autoscaling._look(row, tracks["digits", "blue"], autoscaling.Pace(2.0), now)
    assert (count(), Operation.objects.filter(created_by="autoscaler").count()) == (1, 0)
    assert look(20.0)["wanted"] == 2


def test_a_change_of_its_own_that_failed_is_not_tried_at_once(
    api: APIClient, node: SimulatedNode
) -> None:
    look(10.0)
    running = Operation.objects.latest("created_at")
    assert api.post(f"/api/v1/operations/{running.pk}/cancel").status_code in (200, 202)
    decision = look(10.0)
    assert (count(), decision["blocked_by"]) == (1, "LastChangeFailed")
    assert "scale digits/blue to 3 was canceled. It tries again at" in decision["blocked"]
    Operation.objects.filter(pk=running.pk).update(
        finished_at=timezone.now() - autoscaling.RETRY_AFTER
    )
    look(10.0)
    assert count() == 3


@pytest.mark.parametrize(
    ("changes", "asked", "refused"),
    [({}, 7, True), ({}, 4, False), ({"min": 2}, 1, True), ({"enabled": False}, 9, False)],
)
def test_a_person_scales_within_the_bounds(
    api: APIClient, node: SimulatedNode, changes: dict[str, Any], asked: int, refused: bool
) -> None:
    policy_set(api, **changes)
    answer = api.post(f"{BLUE}/scale", {"instance_count": asked}, format="json")
    if not refused:
        assert (answer.status_code, count()) == (202, asked), answer.json()
        return
    assert (answer.status_code, answer.json()["field"]) == (400, "instance_count")
    words = f"{asked}, expected {changes.get('min', 1)} to 6: its autoscaling policy"
    assert words in answer.json()["detail"]
    if asked > 1:
        assert api.patch(BLUE, {"instance_count": asked}, format="json").status_code == 400


def test_a_persons_count_lasts_for_the_cool_down(api: APIClient, node: SimulatedNode) -> None:
    policy_set(api, down={"window_s": 0, "cooldown_s": 60})
    look(1.0)
    api.patch(BLUE, {"instance_count": 4}, format="json")
    settle(node)
    decision = look(1.0)
    assert (decision["wanted"], "after the cool-down" in decision["reason"]) == (4, True)


@pytest.mark.parametrize(("enabled", "words"), [(False, "The policy is paused."), (True, "")])
def test_paused_nothing_is_done(
    api: APIClient, node: SimulatedNode, enabled: bool, words: str
) -> None:
    if enabled:
        api.post(f"{BLUE}/stop?force=true")
        gateway_confirms()
    else:
        policy_set(api, enabled=False)
    decision = look(20.0)
    assert count() == (0 if enabled else 1)
    assert (decision["reason"] == words) != enabled
    assert decision["blocked_by"] == ("Paused" if enabled else "")


def test_a_put_without_a_count_keeps_what_runs(api: APIClient, node: SimulatedNode) -> None:
    look(10.0)
    settle(node)
    body = {"model": "digits", "version": "1", "config_revision": 0, "autoscale": POLICY}
    assert api.put(BLUE, body, format="json").status_code == 200
    assert count() == 3
    assert api.put(BLUE, {**body, "instance_count": 9}, format="json").status_code == 400
    assert api.put(BLUE, {**body, "instance_count": 2}, format="json").status_code == 202


def test_a_new_deployment_begins_with_the_least(api: APIClient) -> None:
    model_register()
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    body = {"name": "blue", "model": "digits", "autoscale": {**POLICY, "min": 2}}
    assert api.post(f"{DIGITS}/deployments", body, format="json").status_code == 202
    assert count() == 2


def test_its_tag_does_not_follow_the_load(api: APIClient, node: SimulatedNode) -> None:
    before = api.get(BLUE)["ETag"]
    look(10.0)
    assert api.get(BLUE)["ETag"] == before
    policy_set(api, max=5)
    assert api.get(BLUE)["ETag"] != before


def test_without_a_policy_it_costs_one_question(
    api: APIClient, node: SimulatedNode, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Deployment.objects.update(autoscale=None)
    with django_assert_num_queries(1):
        assert autoscale(now=timezone.now()) == 0


def test_a_policy_is_looked_at_when_it_is_due(api: APIClient, node: SimulatedNode) -> None:
    policy_set(api, interval_s=10)
    now = timezone.now()
    seen = [autoscale(now=now + timedelta(seconds=after)) for after in (0, 2, 8, 10, 12)]
    assert seen == [1, 0, 0, 1, 0]


def test_while_more_load_comes_it_looks_at_each_sample(api: APIClient, node: SimulatedNode) -> None:
    """Two seconds of samples tell half of what began a second ago."""
    policy_set(api, max=1)
    now = timezone.now()
    for in_flight, soon in ((0.4, False), (2.4, True), (2.4, False)):
        assert look(in_flight, now)["wanted"] == 1
        assert Autoscaler.objects.get().memory["soon"] is soon
        seen = [autoscale(now=now + timedelta(seconds=after)) for after in (0.5, 1.0)]
        assert seen == [int(soon), 0]
        now += timedelta(seconds=4)
