"""What the rules see of rows: endpoints, replicas, nodes, queues, certificates and disks."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.alerts.evaluation import Observation, verdict
from controlplane.alerts.rules import RULES, Settings
from controlplane.alerts.selectors import facts
from controlplane.alerts.services import restarts
from controlplane.capture.models import CaptureBaseline
from controlplane.deployments.models import Replica
from controlplane.drift import Summary
from controlplane.gateway.models import Gateway
from controlplane.metrics.models import RollUp
from controlplane.nodes.models import Node
from tests.support.placed_replicas import replica_place
from tests.support.rows_read import RowsRead, rows_read
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def seen(name: str) -> dict[tuple[str, str], Observation]:
    found = RULES[name]
    settings = Settings(found, True, found.threshold, found.for_s, found.severity)
    observe = facts.FACTS.get(name, restarts.observe)
    return {(one.subject, one.part): one for one in observe(settings, timezone.now())}


@pytest.fixture
def node() -> SimulatedNode:
    made = SimulatedNode()
    replica_place(made.row())
    return made


def test_an_endpoint_without_a_ready_replica(node: SimulatedNode) -> None:
    replica = Replica.objects.get()
    name = replica.deployment.endpoint.name
    endpoint = replica.deployment.endpoint
    endpoint.traffic = {replica.deployment.name: 100}
    endpoint.save()
    for state, ready in (("ready", True), ("failed", False)):
        Replica.objects.update(state=state)
        (one,) = seen("endpoint-unavailable").values()
        assert (one.subject, one.burns, one.project) == (f"endpoint/{name}", not ready, "default")


def test_restarts_are_counted_from_rows(node: SimulatedNode) -> None:
    replica = Replica.objects.get()
    key = (f"endpoint/{replica.deployment.endpoint.name}", replica.deployment.name)
    assert seen("replica-restarting")[key].value == 0
    Replica.objects.update(observed={"restarts": 3}, attempts=2)
    assert seen("replica-restarting")[key].value == 5
    assert seen("replica-restarting")[key].value == 5, "the same ones count once"
    Replica.objects.all().delete()
    assert seen("replica-restarting")[key].value == 0


def test_a_look_reads_little_of_what_nodes_report() -> None:
    """They report kilobytes: graphics cards, versions, what is in their caches."""

    def read(long: int) -> RowsRead:
        Node.objects.update(
            info={"disk_total_bytes": 100, "disk_free_bytes": 1, "gpus": ["x" * long]},
            labels={"rack": "y" * long},
        )
        with rows_read() as found:
            for name in RULES:
                seen(name)
        return found

    for number in range(20):
        Node.objects.create(id=f"n{number}", name=f"n{number}", last_seen_at=timezone.now())
    assert read(10_000) == read(10)
    assert len(seen("disk-nearly-full")) >= 20
    assert seen("disk-nearly-full")["node/n3", ""].value == 99


def test_a_queue_that_nobody_measured_is_not_known(node: SimulatedNode) -> None:
    deployment = Replica.objects.get().deployment
    key = (f"endpoint/{deployment.endpoint.name}", deployment.name)
    assert seen("queue-slow")[key].untold == "Its replicas were not sampled."
    sums = {"success": 10.0, "queue_us": 9_000_000.0}
    at = int(timezone.now().timestamp()) - 30
    scope = f"deployment/{deployment.endpoint.name}/{deployment.name}"
    RollUp.objects.create(scope=scope, span_s=60, at=at, data={"s": 60.0, "sums": sums})
    one = seen("queue-slow")[key]
    assert (one.value, one.untold) == (900.0, "")
    assert "waited 900 ms" in one.summary


def test_nodes_and_gateways_that_are_silent_and_disks(node: SimulatedNode) -> None:
    info: dict[str, Any] = {"disk_total_bytes": 1000, "disk_free_bytes": 50}
    Node.objects.update(info=info, last_seen_at=timezone.now())
    Gateway.objects.create(name="gw", last_seen_at=timezone.now() - timedelta(seconds=70))
    Gateway.objects.create(name="never")
    name = Node.objects.get().name
    assert (seen("node-silent")[f"node/{name}", ""].value or 0) < 60
    assert list(seen("gateway-silent")) == [("gateway/gw", "")]
    disk = seen("disk-nearly-full")[f"node/{name}", ""]
    assert (disk.value, disk.untold) == (95.0, "")
    Node.objects.update(last_seen_at=timezone.now() - timedelta(hours=1))
    assert seen("disk-nearly-full")[f"node/{name}", ""].untold == "Its node is silent."
    assert any(subject == facts.INSTALLATION for subject, _ in seen("disk-nearly-full"))


def test_certificates_that_end(node: SimulatedNode) -> None:
    now = timezone.now()
    Gateway.objects.create(
        name="gw", served_ends_at=now + timedelta(days=3), certified_at=now,
        certificate_ends_at=now - timedelta(days=1),
    )  # fmt: skip
    found = seen("certificate-ends")
    assert found["gateway/gw", "that clients see"].value == pytest.approx(3, abs=0.01)
    assert "ended on" in found["gateway/gw", "of its agent"].summary


def test_drift_is_what_the_last_look_found(node: SimulatedNode) -> None:
    row = CaptureBaseline(deployment=Replica.objects.get().deployment, source="x", set_by="ada")
    row.summary = Summary(0, {})
    row.save()
    key = ("endpoint/digits", "blue")
    assert seen("input-drift") == {}, "nobody has looked yet"
    rule = Settings(RULES["input-drift"], True, 0.25, 0, RULES["input-drift"].severity)
    for psi, told, broken in (
        (None, "the window has 120 of 300 rows", None),
        (0.2, "", False),
        (0.3, "", True),
    ):
        CaptureBaseline.objects.update(
            looked_at=timezone.now(), worst_psi=psi, worst_feature="model_inputs/x[3]", told=told
        )
        found = seen("input-drift")[key]
        assert (verdict(rule.rule, found, False), found.project) == (broken, "default")
        assert told in found.untold
    assert "model_inputs/x[3] of blue" in found.summary


def test_nothing_is_seen_of_an_empty_installation(api: APIClient) -> None:
    for name in RULES:
        if name != "disk-nearly-full":
            assert seen(name) == {}, name
