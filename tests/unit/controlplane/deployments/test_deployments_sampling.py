"""Samples of what the autoscaler looks after have it look at once, and others ask nothing of it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from controlplane.deployments import agent_api
from controlplane.deployments.models import Autoscaler, Deployment, Endpoint, Replica
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from wire.samples import ModelCounters, ReplicaSample, SampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
POLICY = {"max": 4, "targets": {"in_flight": 1}}
LOOK = ["operations.autoscale"]


@pytest.mark.parametrize(
    ("policy", "looked_s", "soon", "waiting", "sent", "next_s"),
    [
        (None, None, False, 7, [], 2.0),
        (POLICY, None, False, 0, LOOK, 1.0),
        (POLICY, 0.9, False, 0, [], 1.0),  # it does so every two seconds
        (POLICY, 0.9, True, 0, LOOK, 0.5),  # but as samples come while more load does
        (POLICY, 0.9, False, 7, [], 0.5),
        (POLICY, 1.9, False, 0, LOOK, 1.0),
        (POLICY, -3600, False, 0, LOOK, 1.0),  # the clock was set back
    ],
    ids=["no policy", "never", "a moment ago", "soon", "some wait", "due", "in the future"],
)
def test_a_sample_of_what_is_autoscaled_has_it_looked_at(
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    policy: dict[str, Any] | None,
    looked_s: float | None,
    soon: bool,
    waiting: int,
    sent: list[str],
    next_s: float,
) -> None:
    model_register()
    node = SimulatedNode()
    assert api.post("/api/v1/deploy", {"model": "digits"}, format="json").status_code == 202
    row = Replica.objects.get()
    Deployment.objects.update(autoscale=policy)
    # why it stands still: on a busy machine "a moment ago" would be due by the time of the post
    now = timezone.now()
    monkeypatch.setattr(agent_api, "timezone", SimpleNamespace(now=lambda: now))
    looked = None if looked_s is None else now - timedelta(seconds=looked_s)
    Autoscaler.objects.create(deployment=row.deployment, decided_at=looked, memory={"soon": soon})
    found: list[str] = []
    monkeypatch.setattr("celery.Celery.send_task", lambda _, name, **__: found.append(name))
    counters = ModelCounters("digits", "1", pending_request_count=waiting)
    sample = ReplicaSample(row.pk, "digits", "blue", now.timestamp(), (counters,))
    with django_capture_on_commit_callbacks(execute=True):
        answer = node.post("samples", SampleBatch((sample,)))
    assert (answer.status_code, answer.json()["sample_interval_s"]) == (200, next_s)
    assert found == sent


@pytest.mark.parametrize(
    ("mirror", "sent", "next_s"),
    [({}, [], 2.0), ({"green": 10}, ["operations.rollouts"], 1.0)],
    ids=["no copies", "copies"],
)
def test_a_sample_of_what_gets_copies_has_rollouts_looked_at(
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    mirror: dict[str, int],
    sent: list[str],
    next_s: float,
) -> None:
    model_register()
    node = SimulatedNode()
    assert api.post("/api/v1/deploy", {"model": "digits"}, format="json").status_code == 202
    row = Replica.objects.get()
    Endpoint.objects.update(mirror_traffic=mirror)
    found: list[str] = []
    monkeypatch.setattr("celery.Celery.send_task", lambda _, name, **__: found.append(name))
    counters = ModelCounters("digits", "1")
    sample = ReplicaSample(row.pk, "digits", "blue", timezone.now().timestamp(), (counters,))
    with django_capture_on_commit_callbacks(execute=True):
        answer = node.post("samples", SampleBatch((sample,)))
    assert (answer.status_code, answer.json()["sample_interval_s"]) == (200, next_s)
    assert found == sent
