"""Captured data while what it rests on goes missing, comes twice, or changes under it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.alerts.evaluation import Observation, verdict
from controlplane.alerts.rules import RULES, Settings
from controlplane.alerts.selectors import facts
from controlplane.capture import baselines, services
from controlplane.capture.models import CaptureBaseline, CapturedFile, CaptureHour
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Replica
from controlplane.operations.services import operations_tick
from tests.support.placed_replicas import replica_place
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from tests.unit.controlplane.capture.test_captured_data import (
    LINE,
    captures,
    lines,
    name_at,
    normal,
    send,
    summarise,
)

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DRIFT = RULES["input-drift"]


@pytest.fixture
def node() -> SimulatedNode:
    """With one replica that captures."""
    found = SimulatedNode()
    replica_place(found.row(), "r1")
    captures()
    return found


def baseline(content: bytes) -> CaptureBaseline:
    return baselines.baseline_from_file(
        deployment=Deployment.objects.get(), content=content, actor="ada", now=timezone.now()
    )


def observed() -> Observation:
    settings = Settings(DRIFT, True, DRIFT.threshold, DRIFT.for_s, DRIFT.severity)
    (found,) = facts.drift(settings, timezone.now())
    return found


def is_drift() -> bool | None:
    return verdict(DRIFT, observed(), True)


def test_where_nothing_more_comes_nobody_can_tell_and_the_alert_stays(node: SimulatedNode) -> None:
    send(node, normal(400, mean=2.0))
    summarise()
    baseline(normal(400, seed=2))
    assert is_drift() is True
    later = timezone.now() + timedelta(days=2)
    assert baselines.baselines_look(now=later) == 1
    assert is_drift() is None
    assert "0 of 300 rows" in observed().untold


@pytest.mark.parametrize("back", [timedelta(minutes=4), timedelta(hours=3), timedelta(days=40)])
def test_a_clock_that_is_set_back_does_not_end_the_looks(
    node: SimulatedNode, back: timedelta
) -> None:
    """The last look is in its future then."""
    baseline(normal(400))
    then = timezone.now() - back
    assert baselines.baselines_look(now=then) == 1
    assert baselines.baselines_look(now=then) == 0
    assert baselines.baselines_look(now=then + timedelta(minutes=5)) == 1


def test_looks_are_as_far_apart_as_the_setting_says(node: SimulatedNode, settings: Any) -> None:
    settings.SHOAL_DRIFT_INTERVAL_S = 20
    baseline(normal(400))
    now = timezone.now()
    assert baselines.baselines_look(now=now + timedelta(seconds=15)) == 0
    assert baselines.baselines_look(now=now + timedelta(seconds=20)) == 1


def test_a_file_that_comes_twice_at_once_is_kept_once(
    node: SimulatedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent has given up waiting for the first answer, say."""
    real, name = services._moments, name_at()

    def meanwhile(*said: Any) -> Any:
        monkeypatch.setattr(services, "_moments", real)
        assert send(node, lines(LINE), name).status_code == 204
        return real(*said)

    monkeypatch.setattr(services, "_moments", meanwhile)
    assert send(node, lines(LINE), name).status_code == 204
    assert CapturedFile.objects.count() == 1


def test_of_two_workers_one_counts_a_file(
    node: SimulatedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(node, lines(LINE, LINE))
    real = services.summarised

    def meanwhile(*said: Any) -> Any:
        monkeypatch.setattr(services, "summarised", real)
        summarise()
        return real(*said)

    monkeypatch.setattr(services, "summarised", meanwhile)
    summarise()
    assert CaptureHour.objects.get().records == 2


@pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
def test_of_two_who_set_a_baseline_at_once_the_second_one_s_stays() -> None:
    """Threads with connections of their own; on SQLite they wait for each other anyway."""
    replica_place(SimulatedNode().row(), "r1")
    together = Barrier(2)

    def set_it(rows: int) -> None:
        try:
            together.wait()
            baseline(normal(rows))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as people:
        list(people.map(set_it, (300, 400)))
    told = Event.objects.filter(verb="capture.baseline_set").order_by("seq")
    assert sorted(one.data["records"] for one in told) == [300, 400]
    assert CaptureBaseline.objects.get().records == told[1].data["records"]


def test_what_a_drained_replica_captured_last_counts(api: APIClient, admin_api: APIClient) -> None:
    """It sends its last file while it ends, and its row may be gone before that comes."""
    one = SimulatedNode("one")
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    captures()
    one.bring_up()
    gateway_confirms()
    old = Replica.objects.get().pk
    two = SimulatedNode("two")
    assert admin_api.post("/api/v1/nodes/one/drain", {}, format="json").status_code == 202
    assert send(one, lines(LINE), name_at(2), replica=old).status_code == 204
    two.bring_up()
    gateway_confirms()
    one.desired()
    one.report()
    operations_tick(now=timezone.now())
    assert [row.node.name for row in Replica.objects.all()] == ["two"]
    assert send(one, lines(LINE), name_at(1), replica=old).status_code == 204
    summarise()
    assert CaptureHour.objects.get().records == 2
