"""Alerts and objectives while nodes are emptied, and where two people act at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.alerts.models import Alert, ObjectiveRow
from controlplane.alerts.selectors import facts
from controlplane.alerts.services import looks
from controlplane.alerts.services.objectives import objective_set
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint, Replica
from controlplane.gateway.models import Gateway
from controlplane.metrics.services import gateway_samples_ingest
from controlplane.nodes.models import Node
from controlplane.operations.services import drains_advance, operations_tick
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.samples import GatewaySample, GatewaySampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of this machine is none of these tests' business."""
    monkeypatch.setattr(looks, "FACTS", {**facts.FACTS, "disk-nearly-full": lambda *_: iter(())})


@pytest.fixture
def one(api: APIClient) -> SimulatedNode:
    """With the only replica of an endpoint that promises something."""
    found = SimulatedNode("one")
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    found.bring_up()
    gateway_confirms()
    said = {"kind": "availability", "target_percent": 99.9}
    url = "/api/v1/endpoints/digits/objectives/answered"
    assert api.put(url, said, format="json").status_code == 201
    Endpoint.objects.update(created_at=timezone.now() - timedelta(days=9))
    return found


def look(now: datetime, requests: int = 0, failed: int = 0) -> None:
    """With nodes that are heard of, and a gateway that has counted since the look before."""
    Gateway.objects.update_or_create(name="gw", defaults={"last_seen_at": now})
    Node.objects.update(last_seen_at=now)
    if requests:
        classes = {"2xx": requests - failed, "5xx": failed}
        sample = GatewaySample(
            "digits", "blue", now.timestamp() - 1, 2.0, requests, classes, {"50": requests}
        )
        gateway_samples_ingest(GatewaySampleBatch((sample,)))
    looks.alerts_look(now=now)


def fires() -> list[tuple[str, str]]:
    return sorted(Alert.objects.filter(state="firing").values_list("rule", "subject"))


def drain(admin_api: APIClient, **how: object) -> None:
    answer = admin_api.post("/api/v1/nodes/one/drain", how, format="json")
    assert answer.status_code == 202, answer.content


def test_what_is_emptied_node_by_node_alarms_nobody(
    admin_api: APIClient, one: SimulatedNode
) -> None:
    """Its replica answers elsewhere before it goes; no stage of that is an outage."""
    two, now = SimulatedNode("two"), timezone.now()
    drain(admin_api)
    look(now, 500)
    two.bring_up()
    look(now + timedelta(seconds=90), 500)
    assert Replica.objects.filter(desired="retiring").exists()
    gateway_confirms()
    one.desired()
    one.report()
    operations_tick(now=timezone.now())
    assert [row.node.name for row in Replica.objects.all()] == ["two"]
    for seconds in (180, 270):
        look(now + timedelta(seconds=seconds), 500)
    assert not Alert.objects.exists()


def test_a_failure_meanwhile_is_told_as_at_any_time(
    admin_api: APIClient, one: SimulatedNode
) -> None:
    SimulatedNode("two")
    drain(admin_api)
    look(timezone.now() + timedelta(seconds=5), 500, 50)
    assert ("objective-fast-burn", "endpoint/digits") in fires()


def test_what_has_nowhere_to_go_and_is_stopped_is_an_outage_until_it_is_back(
    admin_api: APIClient, one: SimulatedNode
) -> None:
    now = timezone.now()
    drain(admin_api, force=True, deadline_s=60)
    look(now)
    assert not Alert.objects.exists()
    drains_advance(now=now + timedelta(seconds=61))
    operations_tick(now=now + timedelta(seconds=80))
    one.desired()
    one.report()
    for seconds in (90, 120, 150, 180):
        look(now + timedelta(seconds=seconds))
    assert fires() == [("endpoint-unavailable", "endpoint/digits")]
    assert admin_api.post("/api/v1/nodes/one/uncordon").status_code == 200
    operations_tick(now=timezone.now())
    one.bring_up()
    gateway_confirms()
    for seconds in (210, 240, 270):
        look(now + timedelta(seconds=seconds))
    assert fires() == []
    assert Alert.objects.get().state == "resolved"


def test_a_node_that_was_emptied_and_removed_is_no_silent_one(
    admin_api: APIClient, one: SimulatedNode
) -> None:
    now = timezone.now()
    SimulatedNode("spare")
    Node.objects.filter(name="spare").update(last_seen_at=now - timedelta(seconds=90))
    looks.alerts_look(now=now)
    assert ("node-silent", "node/spare") in fires()
    assert admin_api.delete("/api/v1/nodes/spare?force=true").status_code == 204
    look(now + timedelta(seconds=15))
    assert Alert.objects.get(subject="node/spare").state == "resolved"


@pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
def test_of_two_who_set_one_objective_at_once_the_second_one_s_stays() -> None:
    """And the log says so. Threads with connections of their own."""
    Endpoint.objects.create(name="quote")
    together = Barrier(2)

    def set_it(percent: float) -> None:
        try:
            together.wait()
            objective_set(
                endpoint="quote", name="answered", kind="availability", target_percent=percent,
                window_days=28, threshold_ms=None, actor="ada",
            )  # fmt: skip
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as people:
        list(people.map(set_it, (99.0, 99.9)))
    first, second = Event.objects.filter(verb="objective.set").order_by("seq")
    assert ObjectiveRow.objects.get().target_percent == second.data["after"]["target_percent"]
    assert second.data["before"] == first.data["after"]
