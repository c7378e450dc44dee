"""What the tick and the look at alerts do and send beside their own work: no job for nothing."""

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from controlplane.alerts.models import Channel, Delivery
from controlplane.alerts.tasks import alerts_look
from controlplane.alerts.types import DeliveryStatus
from controlplane.core import audit, events, jobs
from controlplane.gateway import tasks as gateway_tasks  # noqa: F401 # registers them
from controlplane.gateway.models import Gateway
from controlplane.operations.tasks import deployments_reconcile

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def send(name: str, **_: Any) -> None:
        names.append(name)

    monkeypatch.setattr(jobs.current_app, "send_task", send)
    return names


def test_events_are_sealed_by_a_job_that_is_sent_only_where_there_are_some(
    sent: list[str],
) -> None:
    deployments_reconcile()
    assert sent == []
    events.record(actor="dana", verb="endpoint.deleted", subject="endpoint/e", message="Gone")
    deployments_reconcile()
    assert sent == ["core.seal_events"]
    audit.seal()
    deployments_reconcile()
    assert sent == ["core.seal_events"]


def test_a_silent_gateway_is_noticed_by_the_tick(sent: list[str]) -> None:
    gone = timezone.now() - timedelta(minutes=5)
    Gateway.objects.create(name="edge", last_seen_at=gone)
    deployments_reconcile()
    assert Gateway.objects.get().silent


@pytest.mark.parametrize(
    ("minutes", "enabled", "expected"),
    [(-1, True, ["alerts.deliver"]), (1, True, []), (-1, False, [])],
    ids=["due", "later", "of a channel that is off"],
)
def test_a_message_that_is_due_is_sent_again_after_a_look(
    sent: list[str], minutes: int, enabled: bool, expected: list[str]
) -> None:
    channel = Channel.objects.create(name="ops", kind="webhook", enabled=enabled)
    Delivery.objects.create(
        id="d" * 32,
        channel=channel,
        event="firing",
        message={},
        status=DeliveryStatus.WAITING,
        next_at=timezone.now() + timedelta(minutes=minutes),
        created_at=timezone.now(),
    )
    alerts_look()
    assert sent == expected


class Stub:
    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.runs = error, 0

    def run(self) -> None:
        self.runs += 1
        if self.error is not None:
            raise self.error


def test_one_that_fails_does_not_keep_the_next_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing, next_one = Stub(ValueError("broken")), Stub()
    for name, stub in (("test.failing", failing), ("test.next", next_one)):
        monkeypatch.setitem(current_app.tasks, name, stub)
    jobs.alongside("test.failing", "test.next")
    assert (failing.runs, next_one.runs) == (1, 1)
    assert "Job test.failing failed" in caplog.text


def test_the_limit_of_the_job_ends_what_is_done_alongside(monkeypatch: pytest.MonkeyPatch) -> None:
    late, next_one = Stub(SoftTimeLimitExceeded()), Stub()
    for name, stub in (("test.late", late), ("test.next", next_one)):
        monkeypatch.setitem(current_app.tasks, name, stub)
    with pytest.raises(SoftTimeLimitExceeded):
        jobs.alongside("test.late", "test.next")
    assert next_one.runs == 0
