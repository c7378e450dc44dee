"""Nodes that fell silent seconds ago: not chosen, and given up soon where they took nothing up."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.deployments.models import Replica
from controlplane.deployments.placement import Fleet, Machine, Need, Subject, offers_of, place
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_is_late
from controlplane.operations.services import operations_tick
from controlplane.operations.services.facts import lost_after
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode

GOOD = Machine("b", "b", disk_total_bytes=10**12, disk_free_bytes=10**11)
LATE = replace(GOOD, node_id="a", name="a", late=True)
NEED = Need(ordinals=(0,), backends=frozenset(), size_bytes=1)
NOBODY = Subject(None, None, None)


@pytest.mark.parametrize(
    ("machines", "chosen"),
    [
        ((LATE, GOOD), "b"),
        ((LATE, replace(GOOD, disk_free_bytes=10**10)), "b"),  # a worse place, and alive
        ((LATE, replace(GOOD, cordoned=True)), "a"),  # the only one
        ((LATE, replace(LATE, node_id="b", name="b", disk_free_bytes=2 * 10**11)), "b"),
    ],
)
def test_a_node_whose_report_is_overdue_is_chosen_last(
    machines: tuple[Machine, ...], chosen: str
) -> None:
    assert place(NEED, offers_of(Fleet(machines, ()), NOBODY)).assigned == ((0, chosen),)


@pytest.mark.parametrize(
    ("taken_up", "lost_after_s", "offline_after_s", "seconds"),
    [
        (False, 120, 20, 20),
        (True, 120, 20, 120),
        (False, 120, 240, 240),  # a large fleet reports rarely, and is well
        (True, 120, 240, 240),
        (False, 10, 8, 10),  # whoever wants it sooner
    ],
)
def test_what_no_node_took_up_is_given_up_soon(
    taken_up: bool, lost_after_s: float, offline_after_s: float, seconds: int
) -> None:
    found = lost_after(
        taken_up=taken_up, lost_after_s=lost_after_s, offline_after_s=offline_after_s
    )
    assert found == timedelta(seconds=seconds)


def age(name: str, seconds: float) -> None:
    now = timezone.now()
    Node.objects.update(online_since=now - timedelta(hours=1))  # we have been listening
    Node.objects.filter(name=name).update(last_seen_at=now - timedelta(seconds=seconds))


def places() -> list[str]:
    return [row.node.name for row in Replica.objects.filter(desired="running")]


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_deployment_goes_elsewhere_in_20_s_when_its_node_dies_before_it_took_it_up(
    api: APIClient,
) -> None:
    """It took 138 s: the node had died seconds before, and was given up after two minutes."""
    for name in ("a", "b", "c"):
        SimulatedNode(name).report()
    model_register()
    age("a", 8)
    assert node_is_late(Node.objects.get(name="a"), timezone.now())
    api.post("/api/v1/deploy", {"model": "digits", "endpoint": "digits"}, format="json")
    operations_tick(now=timezone.now())
    assert places() == ["b"], "a is the first by name, and overdue"

    age("b", 19)
    operations_tick(now=timezone.now())
    assert places() == ["b"]
    age("b", 21)
    for _ in range(3):
        operations_tick(now=timezone.now())
    assert places() == ["c"]


@pytest.mark.django_db(databases=["default", "metrics"])
def test_what_a_node_took_up_is_spared_as_long_as_ever(api: APIClient) -> None:
    node = SimulatedNode("a")
    model_register()
    api.post("/api/v1/deploy", {"model": "digits", "endpoint": "digits"}, format="json")
    node.bring_up()
    SimulatedNode("b").report()
    age("a", 60)
    for _ in range(3):
        operations_tick(now=timezone.now())
    assert places() == ["a"]
