"""A rollout whose candidate's node falls silent, or is emptied, in the middle of a step."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint, Replica
from controlplane.operations.models import Rollout
from controlplane.operations.services import operations_tick, rollouts_look
from tests.support.gateway_counts import counted
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ROLLOUTS = "/api/v1/endpoints/digits/rollouts"
PLAN = {
    "deployment": "green",
    "steps": [{"percent": 50, "hold_s": 10}, {"percent": 100}],
    "min_requests": 100,
}


@pytest.fixture
def one(api: APIClient) -> SimulatedNode:
    """Blue answers there, green is ready, and a rollout of it has begun."""
    found = SimulatedNode("one")
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    found.bring_up()
    gateway_confirms()
    green = {"name": "green", "model": "digits", "traffic": 0}
    assert api.post("/api/v1/endpoints/digits/deployments", green, format="json").status_code == 202
    found.bring_up()
    gateway_confirms()
    operations_tick(now=timezone.now())
    answer = api.post(ROLLOUTS, PLAN, format="json")
    assert answer.status_code == 201, answer.content
    return found


def look(after_s: float, answered: int = 200) -> Rollout:
    now = datetime.fromtimestamp(Rollout.objects.get().memory["since"] + after_s, UTC)
    counted(now.timestamp(), blue=(answered, 0), green=(answered, 0))
    rollouts_look(now=now)
    return Rollout.objects.get()


def traffic() -> dict[str, int]:
    return dict(Endpoint.objects.get().traffic)


def test_while_nobody_hears_of_the_candidate_nothing_is_decided(one: SimulatedNode) -> None:
    Replica.objects.filter(deployment__name="green").update(state="unknown")
    found = look(11)
    assert (found.state, found.judgement["cause"]) == ("Running", "nodes_silent")
    assert traffic() == {"blue": 50, "green": 50}
    assert look(13).state == "Running"
    assert Event.objects.filter(verb="rollout.held").count() == 1
    Replica.objects.filter(deployment__name="green").update(state="ready")
    assert look(15).state == "Succeeded"
    assert traffic() == {"green": 100}


def test_a_drain_of_its_node_takes_neither_its_turn_nor_its_traffic(
    admin_api: APIClient, one: SimulatedNode
) -> None:
    """What answers elsewhere is no restart, and no candidate without a replica."""
    two = SimulatedNode("two")
    assert admin_api.post("/api/v1/nodes/one/drain", {}, format="json").status_code == 202
    assert look(2).state == "Running"
    two.bring_up()
    assert look(4).state == "Running"
    gateway_confirms()
    one.desired()
    one.report()
    operations_tick(now=timezone.now())
    assert {row.node.name for row in Replica.objects.all()} == {"two"}
    assert traffic() == {"blue": 50, "green": 50}
    found = look(11)
    assert (found.state, traffic()) == ("Succeeded", {"green": 100})
    restarts = next(row for row in found.judgement["figures"] if row["measure"] == "restarts")
    assert restarts["bad"] == 0
