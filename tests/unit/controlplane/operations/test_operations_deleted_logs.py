"""Deleting a deployment, or an endpoint, takes its log lines along."""

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from controlplane.deployments.models import Deployment
from controlplane.deployments.services.deployments import logs_sweep
from controlplane.metrics.models import LogLine
from controlplane.metrics.selectors import log_owners
from controlplane.operations.models import Operation
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def written(endpoint: str, deployment: str) -> None:
    LogLine.objects.create(
        endpoint=endpoint, deployment=deployment, replica_id=f"{endpoint}-{deployment}",
        stream="inference-server", seq=1, at=1.0, text="hello",
    )  # fmt: skip


@pytest.fixture
def serving(api: APIClient) -> SimulatedNode:
    """Blue and green of digits, blue of other; each has written a line."""
    node = SimulatedNode()
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"})
    api.post("/api/v1/deploy", {"model": "digits", "endpoint": "other"})
    node.bring_up()
    gateway_confirms()
    api.post("/api/v1/endpoints/digits/deployments", {"name": "green", "model": "digits"})
    node.bring_up()
    gateway_confirms()
    for endpoint, deployment in (("digits", "blue"), ("digits", "green"), ("other", "blue")):
        written(endpoint, deployment)
    return node


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("digits/deployments/green", {("digits", "blue"), ("other", "blue")}),
        ("digits", {("other", "blue")}),
    ],
)
def test_what_is_deleted_leaves_no_lines(
    api: APIClient,
    serving: SimulatedNode,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    path: str,
    left: set[tuple[str, str]],
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        operation = api.delete(f"/api/v1/endpoints/{path}").json()
        for _ in range(3):
            serving.desired()
            serving.report()
            gateway_confirms()
    assert Operation.objects.get(pk=operation["id"]).state == "Succeeded"
    assert set(log_owners()) == left


def test_what_a_crash_left_is_swept_and_nothing_else(serving: SimulatedNode) -> None:
    written("long-gone", "blue")
    Deployment.objects.filter(name="green").delete()
    assert logs_sweep() == 2
    assert set(log_owners()) == {("digits", "blue"), ("other", "blue")}
    assert logs_sweep() == 0
