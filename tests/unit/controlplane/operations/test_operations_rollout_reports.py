"""A rollout driven by what gateways report: their API, the job that it sends, the judgement."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from controlplane.config.celery import app, tasks_import
from controlplane.deployments.models import Endpoint
from controlplane.operations.models import Rollout
from tests.support.placed_replicas import blue_and_green
from wire import codec
from wire.samples import GatewaySample, GatewaySampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ROLLOUTS = "/api/v1/endpoints/digits/rollouts"
REQUESTS = 1000  # in each report
Report = Callable[[float], list[str]]


@pytest.fixture
def report(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> Report:
    """A gateway says what it counted by the shares of that moment, of which so much of green's
    failed; a worker does at once what that sends. Returns the jobs."""
    tasks_import()
    client = Client(headers={"authorization": f"Bearer {settings.SHOAL_GATEWAY_TOKEN}"})
    numbers = count(1)

    def send(failing: float) -> list[str]:
        at = timezone.now().timestamp() + next(numbers) / 1000
        samples = []
        for name, percent in Endpoint.objects.get().traffic.items():
            requests = REQUESTS * percent // 100
            failed = int(requests * failing) if name == "green" else 0
            classes = {"2xx": requests - failed, "5xx": failed}
            histogram = {"100": requests}
            samples.append(GatewaySample("digits", name, at, 2.0, requests, classes, histogram))
        jobs: list[str] = []
        monkeypatch.setattr("celery.Celery.send_task", lambda _, name, **__: jobs.append(name))
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.post(
                "/agent/v1/gateway/samples",
                codec.encode(GatewaySampleBatch(tuple(samples))),
                content_type="application/json",
            )
        assert answer.status_code == 200
        for job in jobs:
            app.tasks[job]()
        return jobs

    return send


def start(api: APIClient) -> None:
    blue_and_green()
    steps = [{"percent": percent, "hold_s": 0} for percent in (1, 10, 50, 100)]
    answer = api.post(ROLLOUTS, {"deployment": "green", "steps": steps}, format="json")
    assert answer.status_code == 201, answer.content


def test_a_good_version_has_all_of_the_traffic_after_so_many_requests(
    api: APIClient, report: Report
) -> None:
    start(api)
    shares = []
    while Rollout.objects.get().state == "Running":
        shares.append(Endpoint.objects.get().traffic["green"])
        assert report(0.0) == ["operations.rollouts"]
    # 200 requests in each step: twenty reports at 1 %, two at 10 %, one at 50 %
    assert shares == [1] * 20 + [10] * 2 + [50]
    assert Endpoint.objects.get().traffic == {"green": 100}
    assert report(0.0) == []  # nobody is judged any more


def test_a_bad_version_is_withdrawn_by_the_report_that_shows_it(
    api: APIClient, report: Report
) -> None:
    start(api)
    for _ in range(21):
        report(0.0)
    assert Endpoint.objects.get().traffic["green"] == 10
    report(0.2)
    row = Rollout.objects.get()
    assert (row.state, row.outcome) == ("Withdrawn", "errors")
    assert "(20 of 400)" in row.reason
    assert Endpoint.objects.get().traffic == {"blue": 100}


def test_without_a_rollout_no_report_sends_a_job(report: Report) -> None:
    blue_and_green()
    assert report(0.0) == []
