"""To zero and back while something breaks: metrics stop, clocks jump, nodes are lost or drained."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.deployments.models import Autoscaler, Deployment, Replica
from controlplane.nodes.models import Node
from controlplane.operations.models import Operation
from controlplane.operations.services import autoscale, nodes_drain, operations_tick
from tests.support.carried_load import carry
from tests.support.simulated_node import SimulatedNode
from tests.unit.controlplane.operations.test_operations_waking import (
    idle_since,
    look,
    node,
    settle,
    to_zero,
    wake,
)

__all__ = ["node"]
pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.mark.parametrize(("per_second", "wanted"), [(1.0, 1), (0.0, 0)])
def test_metrics_that_stop_send_nothing_to_sleep(
    node: SimulatedNode, per_second: float, wanted: int
) -> None:
    """Once there are some again, the count of its requests tells whether there were any."""
    now = idle_since()
    carry(now, 0.0, per_second=0.0, leave_out=1)
    for seconds in (0, 100, 1000):
        Autoscaler.objects.update(decided_at=None)
        assert autoscale(now=now + timedelta(seconds=seconds)) == 1
        assert Autoscaler.objects.get().decision["wanted"] == 1
    assert look(now + timedelta(seconds=1002), per_second)["wanted"] == wanted


@pytest.mark.parametrize("jump_s", [-3600, -90])
def test_a_clock_that_is_set_back_sends_nothing_to_sleep(node: SimulatedNode, jump_s: int) -> None:
    """It was quiet for four seconds, and is for a minute by the clock of then."""
    now = timezone.now()
    for seconds in (0, 2, 4):
        assert look(now + timedelta(seconds=seconds))["wanted"] == 1
    assert look(now + timedelta(seconds=jump_s))["wanted"] == 1
    assert look(now + timedelta(seconds=jump_s + 2))["wanted"] == 1
    assert look(now + timedelta(seconds=jump_s + 64))["wanted"] == 0


@pytest.mark.parametrize("jump", [timedelta(hours=-1), timedelta(seconds=-3)])
def test_a_clock_that_is_set_back_wakes_it_nevertheless(
    node: SimulatedNode, jump: timedelta
) -> None:
    now = to_zero(node)
    assert wake(now + jump) == (True, "")
    assert Deployment.objects.get().instance_count == 1


def test_a_drain_of_its_node_takes_a_wake_elsewhere(node: SimulatedNode) -> None:
    other = SimulatedNode("second")
    now = to_zero(node)
    assert wake(now) == (True, "")
    (begun,) = Replica.objects.filter(desired="running").values_list("node__name", flat=True)
    nodes_drain(names=[begun], deadline=timedelta(minutes=5), force=False, actor="ada", now=now)
    for _ in range(3):
        settle(node)
        settle(other)
        operations_tick(now=timezone.now())
    (row,) = Replica.objects.filter(desired="running").select_related("node")
    assert (row.state, row.node.name == begun) == ("ready", False)
    assert not Operation.objects.filter(finished_at__isnull=True).exists()


def test_a_node_that_is_lost_while_it_wakes_leaves_it_to_another(node: SimulatedNode) -> None:
    """Heard of last before it took anything up."""
    other = SimulatedNode("second")
    now = to_zero(node)
    assert wake(now) == (True, "")
    (lost,) = Replica.objects.filter(desired="running").values_list("node__name", flat=True)
    left = {"local": node, "second": other}
    del left[lost]
    Node.objects.update(online_since=now - timedelta(hours=1))
    Node.objects.filter(name=lost).update(last_seen_at=now - timedelta(seconds=300))
    operations_tick(now=timezone.now())
    settle(*left.values())
    operations_tick(now=timezone.now())
    (row,) = Replica.objects.filter(desired="running", state="ready").select_related("node")
    assert row.node.name in left
    assert Operation.objects.latest("created_at").state == "Succeeded"


def test_of_a_person_and_a_request_that_act_at_once_one_is_done(
    api: APIClient, node: SimulatedNode
) -> None:
    """She stops it while it wakes: nobody starts it again for a request."""
    now = to_zero(node)
    assert wake(now) == (True, "")
    answer = api.post("/api/v1/endpoints/digits/deployments/blue/stop?force=true&supersede=true")
    assert answer.status_code == 202, answer.content
    wakes, reason = wake(now + timedelta(seconds=1))
    assert (wakes, "paused" in reason) == (False, True)
    assert not Replica.objects.filter(desired="running").exists()
