"""A deployment whose policy takes it to zero, and the word of gateways that brings it back."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Autoscaler, Deployment, Endpoint
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.spec import Spec
from controlplane.operations.models import Operation
from controlplane.operations.services import (
    autoscale,
    deployment_confirm,
    deployment_wake,
    operations_tick,
)
from tests.support.carried_load import carry
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
BLUE = f"{DIGITS}/deployments/blue"
POLICY: dict[str, Any] = {"min": 0, "max": 2, "idle": {"after_s": 60, "hold_s": 30}}


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    settle(node)
    answer = api.patch(BLUE, {"autoscale": POLICY}, format="json")
    assert answer.status_code == 200, answer.content
    return node


def settle(node: SimulatedNode) -> None:
    node.bring_up()
    gateway_confirms()


def look(now: datetime, per_second: float = 0.0) -> dict[str, Any]:
    carry(now, per_second / 100, per_second=per_second)
    Autoscaler.objects.update(decided_at=None)
    assert autoscale(now=now) == 1
    return dict(Autoscaler.objects.get().decision)


def to_zero(node: SimulatedNode) -> datetime:
    """It is idle for long enough, and its replica is stopped. Returns when."""
    now = idle_since()
    decision = look(now)
    assert decision["wanted"] == 0, decision
    gateway_confirms()  # they send it nothing new
    node.desired()
    node.say("stopped")
    operations_tick(now=now + timedelta(seconds=1))
    assert Operation.objects.latest("created_at").state == "Succeeded"
    return now + timedelta(seconds=1)


def idle_since() -> datetime:
    """Looks find nothing new; the next one, at the moment returned, finds it idle."""
    now = timezone.now()
    for seconds in (64, 62):
        look(now - timedelta(seconds=seconds))
    return now


def wake(now: datetime, deployment: str = "blue") -> tuple[bool, str]:
    found = deployment_wake(endpoint="digits", deployment=deployment, now=now)
    return found.wakes, found.reason


def states(api: APIClient) -> tuple[str, str, bool]:
    shown = api.get(DIGITS).json()
    (blue,) = shown["deployments"]
    return shown["serving_state"], blue["serving_state"], blue["paused"]


def test_it_goes_to_zero_and_back_and_says_so(api: APIClient, node: SimulatedNode) -> None:
    assert states(api) == ("Healthy", "Healthy", False)
    (routed,) = routing_view().endpoints[0].deployments
    assert (routed.hold is None, routed.asleep) == (False, False)
    now = to_zero(node)
    assert states(api) == ("Idle", "Idle", False)
    assert api.get("/api/v1/overview").json()["attention"] == []
    (routed,) = routing_view().endpoints[0].deployments
    assert (routed.asleep, routed.hold.timeout_s, routed.weight) == (True, 30, 100)
    assert Deployment.objects.get().provisioning_state == "Succeeded"
    assert wake(now) == (True, "")
    assert (Deployment.objects.get().instance_count, states(api)[1]) == (1, "Idle")
    settle(node)
    assert states(api) == ("Healthy", "Healthy", False)
    (routed,) = routing_view().endpoints[0].deployments
    assert not routed.asleep
    told = [one.message for one in Event.objects.filter(verb="deployment.autoscaled")]
    assert sorted(told) == [
        "blue: 0 replicas: no request for 60 s. Bounds 0 to 2.",
        "blue: 1 replica: woken by a request. Bounds 0 to 2.",
    ]


def test_however_many_ask_one_replica_is_started(node: SimulatedNode) -> None:
    now = to_zero(node)
    before = Operation.objects.count()
    assert [wake(now) for _ in range(3)] == [(True, "")] * 3
    assert (Operation.objects.count(), Deployment.objects.get().replicas.count()) == (before + 1, 1)


def test_who_asks_while_the_last_replica_drains_gets_the_next(node: SimulatedNode) -> None:
    now = idle_since()
    assert look(now)["wanted"] == 0
    (routed,) = routing_view().endpoints[0].deployments
    assert (routed.asleep, [one.draining for one in routed.replicas]) == (True, [True])
    wakes, reason = wake(now)
    assert (wakes, reason.startswith("It waits for: ")) == (True, True)
    gateway_confirms()
    node.desired()
    node.say("stopped")
    operations_tick(now=now + timedelta(seconds=1))
    assert wake(now + timedelta(seconds=2)) == (True, "")
    settle(node)
    (routed,) = routing_view().endpoints[0].deployments
    assert [one.draining for one in routed.replicas] == [False]


def test_what_is_asked_for_does_not_go_to_zero(node: SimulatedNode) -> None:
    now = idle_since()
    idle = Autoscaler.objects.get().memory
    Endpoint.objects.update(mirror_traffic={"blue": 10})
    assert look(now)["wanted"] == 1
    Endpoint.objects.update(mirror_traffic={})
    Autoscaler.objects.update(memory=idle)
    assert wake(now) == (True, "")
    assert look(now)["wanted"] == 1


def test_what_a_person_paused_sleeps_on(api: APIClient, node: SimulatedNode) -> None:
    now = to_zero(node)
    assert api.post(f"{BLUE}/stop?force=true").status_code == 202
    gateway_confirms()
    assert states(api)[1:] == ("Stopped", True)
    assert wake(now)[0] is False
    (routed,) = routing_view().endpoints[0].deployments
    assert not routed.asleep
    assert api.post(f"{BLUE}/start", {}, format="json").status_code == 202
    settle(node)
    assert states(api)[1:] == ("Healthy", False)


def test_what_cannot_be_woken_says_why(node: SimulatedNode) -> None:
    now = to_zero(node)
    assert wake(now, "green") == (
        False,
        "somebody has paused it, deleted it, or changed its policy.",
    )
    wakes, reason = wake(now + timedelta(seconds=90))  # its node was not heard of meanwhile
    assert (wakes, reason.startswith("No node can take 1 of 1 replicas: ")) == (True, True)


def test_a_wake_that_fails_leaves_it_idle_and_is_tried_again(
    api: APIClient, node: SimulatedNode
) -> None:
    now = to_zero(node)
    wake(now)
    node.desired()
    node.fail()
    assert Operation.objects.latest("created_at").state == "Failed"
    assert states(api)[1:] == ("Idle", False)
    wakes, reason = wake(now + timedelta(seconds=1))
    assert (wakes, "failed: " in reason) == (True, True)
    Operation.objects.update(finished_at=now - timedelta(minutes=3))
    assert wake(now + timedelta(seconds=2)) == (True, "")
    settle(node)
    assert states(api)[1] == "Healthy"


def test_a_changed_policy_reaches_gateways(api: APIClient, node: SimulatedNode) -> None:
    before = Endpoint.objects.get().generation
    api.patch(BLUE, {"autoscale": {**POLICY, "idle": {"hold_s": 31}}}, format="json")
    assert Endpoint.objects.get().generation > before
    never = {"min": 1, "max": 2, "targets": {"in_flight": 4}}
    api.patch(BLUE, {"autoscale": never}, format="json")
    (routed,) = routing_view().endpoints[0].deployments
    assert routed.hold is None


def test_whatever_is_done_to_an_idle_one_does_not_pause_it(
    api: APIClient, node: SimulatedNode
) -> None:
    now = to_zero(node)
    deployment_confirm(endpoint="digits", name="blue", actor="ada", now=now)
    gateway_confirms()
    assert states(api)[1:] == ("Idle", False)
    answer = api.patch(BLUE, {"anti_affinity": "required"}, format="json")
    assert (answer.status_code, Deployment.objects.get().instance_count) == (202, 1)
    settle(node)
    assert states(api)[1:] == ("Healthy", False)


def test_who_deploys_what_is_idle_wakes_it(api: APIClient, node: SimulatedNode) -> None:
    to_zero(node)
    answer = api.post("/api/v1/deploy", {"model": "digits", "endpoint": "digits"}, format="json")
    assert (answer.status_code, Deployment.objects.get().instance_count) == (202, 1)
    settle(node)
    assert states(api)[1:] == ("Healthy", False)


def test_a_new_deployment_shows_first_that_it_runs() -> None:
    assert Spec(model="digits", autoscale=POLICY).count() == 1
    assert Spec(model="digits", autoscale=POLICY).count(running=0) == 0
