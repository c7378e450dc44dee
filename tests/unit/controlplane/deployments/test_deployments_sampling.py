"""Samples of what the autoscaler looks after have it look at once, and others ask nothing of it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from controlplane.deployments.models import Autoscaler, Deployment, Replica
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from wire.samples import ReplicaSample, SampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
POLICY = {"max": 4, "targets": {"in_flight": 1}}


@pytest.mark.parametrize(
    ("policy", "looked_s", "sent"),
    [
        (None, None, []),
        (POLICY, None, ["operations.autoscale"]),
        (POLICY, 0.9, []),  # it does so every two seconds
        (POLICY, 1.9, ["operations.autoscale"]),
        (POLICY, -3600, ["operations.autoscale"]),  # the clock was set back
    ],
    ids=["no policy", "never", "a moment ago", "due", "in the future"],
)
def test_a_sample_of_what_is_autoscaled_has_it_looked_at(
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    policy: dict[str, Any] | None,
    looked_s: float | None,
    sent: list[str],
) -> None:
    model_register()
    node = SimulatedNode()
    assert api.post("/api/v1/deploy", {"model": "digits"}, format="json").status_code == 202
    row = Replica.objects.get()
    Deployment.objects.update(autoscale=policy)
    looked = None if looked_s is None else timezone.now() - timedelta(seconds=looked_s)
    Autoscaler.objects.create(deployment=row.deployment, decided_at=looked)
    found: list[str] = []
    monkeypatch.setattr("celery.Celery.send_task", lambda _, name, **__: found.append(name))
    sample = ReplicaSample(row.pk, "digits", "blue", timezone.now().timestamp(), ())
    with django_capture_on_commit_callbacks(execute=True):
        assert node.post("samples", SampleBatch((sample,))).status_code == 200
    assert found == sent
