"""The kept snapshot: nothing is read or rendered while nothing changes, and every change shows."""

import ast
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

import controlplane
from controlplane.deployments import tokens
from controlplane.deployments.models import Endpoint, Replica
from controlplane.deployments.selectors import routing, routing_revision
from controlplane.gateway import snapshots
from controlplane.gateway.services import snapshot_release
from controlplane.gateway.snapshots import Snapshots
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register
from tests.support.rows_read import rows_read
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire import codec
from wire.messages import GatewaySnapshot

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
BLUE = f"{DIGITS}/deployments/blue"
ROUTED_COLUMNS = (
    "traffic", "mirror_traffic", "traffic_rules", "sticky", "sticky_slots", "auth_mode",
    "token_epoch", "cors_origins",
)  # fmt: skip
PROBE = {"readiness_probe": {"period": 3}}


def decoded(kept: snapshots.Encoded) -> GatewaySnapshot:
    return codec.decode(GatewaySnapshot, kept.content)


def test_asking_again_reads_two_rows_however_much_there_is(node: SimulatedNode) -> None:
    version = model_register()
    for number in range(20):
        endpoint = Endpoint.objects.create(name=f"e{number}", created_by="dora")
        row = deployment_add(endpoint, version)
        Replica.objects.create(
            id=f"r{number}", deployment=row, revision=row.revision, ordinal=0, node=node.row()
        )
    kept = Snapshots()
    first = kept.newest()
    with rows_read() as read:
        assert kept.newest() is first
    assert read.rows == 2
    assert decoded(first) == snapshot_release()
    assert decoded(first).version == first.version


@pytest.fixture
def node() -> SimulatedNode:
    return SimulatedNode()


Step = tuple[str, Callable[[APIClient, SimulatedNode], Any]]


def sent(method: str, path: str, body: Any = None) -> Callable[[APIClient, SimulatedNode], None]:
    def send(api: APIClient, node: SimulatedNode) -> None:
        del node
        answer = getattr(api, method)(path, body, format="json")
        assert answer.status_code < 300, answer.content

    return send


def comes_up(api: APIClient, node: SimulatedNode) -> None:
    del api
    node.bring_up()
    gateway_confirms()


def fails(api: APIClient, node: SimulatedNode) -> None:
    del api
    node.fail()


STEPS: tuple[Step, ...] = (
    ("an endpoint", sent("post", "/api/v1/endpoints", {"name": "digits"})),
    ("a deployment", sent("post", "/api/v1/deploy", {"model": "digits", "endpoint": "digits"})),
    ("its replica answers", comes_up),
    ("a key", sent("post", f"{DIGITS}/keys/regenerate", {"key_type": "primary"})),
    ("limits", sent("patch", DIGITS, {"max_request_bytes": 1000})),
    ("the time-out", sent("patch", BLUE, {"request_timeout_ms": 777})),
    ("how much at a time", sent("patch", BLUE, {"max_concurrent_requests_per_instance": 2})),
    ("how many", sent("post", f"{BLUE}/scale", {"instance_count": 2})),
    ("the second replica answers", comes_up),
    ("the probe", sent("post", f"{BLUE}/update", PROBE)),
    ("all replicas are new", comes_up),
    ("a failure", fails),
    ("tokens", sent("patch", DIGITS, {"auth_mode": "aml_token"})),
    ("older tokens", sent("post", f"{DIGITS}/token/revoke")),
    ("its end begins", sent("delete", f"{BLUE}?force=true")),
    ("the endpoint ends", sent("delete", DIGITS)),
)


def test_every_change_that_gateways_see_is_another_revision(
    api: APIClient, node: SimulatedNode
) -> None:
    """Whatever somebody does, also what happens on its way: nothing is believed of the writers."""
    model_register()
    kept = Snapshots()
    versions = {kept.newest().version}
    for what, step in STEPS:
        step(api, node)
        assert decoded(kept.newest()) == snapshot_release(), what
        versions.add(kept.newest().version)
    assert len(versions) > len(STEPS) - 3  # they did change something


def test_one_place_alone_raises_the_number_of_an_endpoint() -> None:
    """It also wakes gateways, and nobody else would."""
    root = Path(controlplane.__file__).parent
    raising = {
        source.relative_to(root).as_posix()
        for source in root.rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith("Endpoint.objects")
        and node.func.attr == "update"  # type: ignore[attr-defined]
        and any(word.arg in ("generation", *ROUTED_COLUMNS) for word in node.keywords)
    }
    assert raising == {"deployments/services/generations.py"}


def test_tokens_that_open_and_expire_are_another_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    monkeypatch.setattr(routing.timezone, "now", lambda: now)
    before = routing_revision()
    assert routing_revision() == before
    monkeypatch.setattr(routing.timezone, "now", lambda: now + tokens.WINDOW)
    assert routing_revision() != before


def test_a_change_while_it_is_rendered_shows_at_the_next_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint = Endpoint.objects.create(name="digits", created_by="dora")

    def changed_meanwhile() -> GatewaySnapshot:
        found = snapshot_release()
        Endpoint.objects.filter(pk=endpoint.pk).update(
            generation=endpoint.generation + 1, cors_origins=["*"]
        )
        return found

    kept = Snapshots()
    monkeypatch.setattr(snapshots, "snapshot_release", changed_meanwhile)
    before = kept.newest()
    monkeypatch.undo()
    assert kept.newest().version != before.version
    assert decoded(kept.newest()) == snapshot_release()


def test_what_changed_behind_the_revision_is_found_within_half_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Endpoint.objects.create(name="digits", created_by="dora")
    kept = Snapshots()
    before = kept.newest()
    Endpoint.objects.update(cors_origins=["*"])
    assert kept.newest() is before
    later = time.monotonic() + timedelta(seconds=31).total_seconds()
    monkeypatch.setattr(snapshots.time, "monotonic", lambda: later)
    assert kept.newest().version != before.version
