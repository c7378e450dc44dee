"""Messages on their way to channels: made with what they are about, sent, tried again, kept."""

import logging
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from controlplane.alerts.messages import (
    RESOLVED,
    TEST,
    Message,
    backoff_s,
    message_from_json,
    message_to_json,
)
from controlplane.alerts.models import Alert, Channel, Delivery
from controlplane.alerts.selectors.alerts import message_of
from controlplane.alerts.selectors.channels import delivery_get
from controlplane.alerts.services.sending import SendFailed, Sent, send, target_of
from controlplane.alerts.types import DeliveryStatus
from controlplane.core import events, jobs

logger = logging.getLogger(__name__)
LEASE: Final = timedelta(seconds=60)  # who took longer has died, and another sends it
MOST_AT_ONCE: Final = 8
THREADS: Final = 8
# Of one job, for all that it sends: where there is one worker, operations wait for it.
PATIENCE_S: Final = 6.0
MOST_LOGGED: Final = 10  # tries that a delivery remembers


def deliveries_add(row: Alert, event: str, channels: Iterable[Channel], now: datetime) -> None:
    """In the transaction in which the alert changes, so that each change is told once."""
    message = message_to_json(message_of(row, event))
    told: dict[str, str] = {}
    if event == RESOLVED:
        # why: the rule may have another severity by now, and what rang for the one before rings on
        before = Delivery.objects.filter(alert=row.pk).order_by("created_at")
        told = dict(before.values_list("channel_id", "message__severity"))
    made = [
        _new(channel, message, event, now, alert=row.pk)
        for channel in channels
        if takes(channel, told.get(channel.pk, row.severity), row.project_id)
    ]
    Delivery.objects.bulk_create(made)
    if made:
        jobs.enqueue_on_commit("alerts.deliver")


def takes(channel: Channel, severity: str, project: str | None) -> bool:
    """Whether this channel is told of such alerts."""
    loud = not channel.severities or severity in channel.severities
    return loud and (not channel.projects or project in channel.projects)


def channel_test(*, channel: Channel, actor: str, now: datetime) -> Delivery:
    """Send a test now, and tell what came of it. It is not tried again."""
    message = Message(
        event=TEST, id="", rule="test", title="Test of a channel", severity="ticket",
        subject="installation", part="", project="", value=None, started_at=now.isoformat(),
        resolved_at="", resolution="", url=target_of("/system"), alert_url=target_of("/alerts"),
        runbook="", runbook_url="",
        summary=f"{actor} tries whether {channel.name} hears of alerts. Nothing is wrong.",
    )  # fmt: skip
    delivery = _new(channel, message_to_json(message), TEST, now)
    delivery.next_at = now + LEASE  # this process sends it
    delivery.attempts = 1
    with transaction.atomic():
        delivery.save(force_insert=True)
        events.record(
            actor=actor,
            verb="channel.tested",
            subject=f"channel/{channel.name}",
            message=f"{actor} sent a test to {channel.name}",
        )
    _kept(delivery, _tried(_job_of(delivery)), now, again=False)
    return delivery_get(channel.name, delivery.pk)


def delivery_replay(*, delivery: Delivery, actor: str, now: datetime) -> Delivery:
    """The same message once more, with a signature of now."""
    again = _new(delivery.channel, delivery.message, delivery.event, now, alert=delivery.alert)
    again.replay_of = delivery.pk
    with transaction.atomic():
        again.save(force_insert=True)
        events.record(
            actor=actor,
            verb="channel.replayed",
            subject=f"channel/{delivery.channel_id}",
            message=f"{actor} has a message sent to {delivery.channel_id} once more",
            data={"delivery": again.pk, "replay_of": delivery.pk},
        )
        jobs.enqueue_on_commit("alerts.deliver")
    return again


def _new(
    channel: Channel, message: dict[str, Any], event: str, now: datetime, *, alert: str = ""
) -> Delivery:
    return Delivery(
        id=uuid4().hex,
        channel=channel,
        alert=alert,
        event=event,
        message=message,
        next_at=now,
        created_at=now,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """All that a thread needs: it reads no rows."""

    delivery: str
    channel: Channel
    message: Message


@dataclass(frozen=True, slots=True)
class Try:
    at: datetime
    sent: Sent | None
    error: str
    ms: float


def deliveries_due(now: datetime) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        status=DeliveryStatus.WAITING, next_at__lte=now, channel__enabled=True
    )


def deliver(*, now: datetime) -> int:
    """Send what is due, side by side. Returns how many were delivered.

    A row is taken by compare-and-set, so that of two workers one sends it; where that one dies
    before it has said so, it is sent again: receivers tell doubles by the delivery's id.
    """
    rows = (
        deliveries_due(now)
        .select_related("channel")
        .order_by("next_at", "created_at")[:MOST_AT_ONCE]
    )
    mine = [row for row in rows if _take(row, now)]
    if not mine:
        return 0
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="alerts")
    begun = [(row, pool.submit(_tried, _job_of(row))) for row in mine]
    until = time.monotonic() + PATIENCE_S
    done = 0
    for row, future in begun:
        done += _kept(row, _result(future, until, now), now, again=True)
    pool.shutdown(wait=False, cancel_futures=True)
    return done


def _take(row: Delivery, now: datetime) -> bool:
    same = Delivery.objects.filter(
        pk=row.pk, status=DeliveryStatus.WAITING, attempts=row.attempts, next_at=row.next_at
    )
    if not same.update(attempts=F("attempts") + 1, next_at=now + LEASE):
        return False
    row.attempts += 1
    return True


def _job_of(row: Delivery) -> Job:
    return Job(row.pk, row.channel, message_from_json(row.message))


def _tried(job: Job) -> Try:
    at, began = timezone.now(), time.monotonic()
    sent, error = None, ""
    try:
        sent = send(job.channel, job.message, job.delivery, at)
    except SendFailed as failure:
        sent, error = failure.sent, failure.message
    return Try(at, sent, error, (time.monotonic() - began) * 1000)


def _result(future: "Future[Try]", until: float, now: datetime) -> Try:
    try:
        return future.result(timeout=max(0.0, until - time.monotonic()))
    except TooLate:
        return Try(now, None, "It took too long.", PATIENCE_S * 1000)
    except Exception as error:
        logger.exception("Sending failed in a way that nobody foresaw")
        return Try(now, None, f"{type(error).__name__}: {error}", 0.0)


def _kept(row: Delivery, found: Try, now: datetime, *, again: bool) -> bool:
    """Write down what came of it. Whether it was delivered."""
    entry = {
        "at": found.at.isoformat(),
        "ms": round(found.ms, 1),
        "status": found.sent.status if found.sent else None,
        "error": found.error,
    }
    changes: dict[str, Any] = {"log": [*row.log, entry][-MOST_LOGGED:], "next_at": None}
    wait_s = backoff_s(row.attempts) if again else None
    if not found.error:
        changes |= {"status": DeliveryStatus.DELIVERED, "delivered_at": found.at}
    elif wait_s is None:
        changes |= {"status": DeliveryStatus.FAILED}
        logger.warning("%s was not delivered: %s", row, found.error)
    else:
        changes |= {"next_at": now + timedelta(seconds=wait_s)}
    same = Delivery.objects.filter(pk=row.pk, status=DeliveryStatus.WAITING, attempts=row.attempts)
    return bool(same.update(**changes)) and not found.error
