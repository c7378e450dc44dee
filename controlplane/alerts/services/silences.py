"""What people do about alerts: acknowledge them and silence them."""

from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from django.db import transaction
from django.db.models import F

from controlplane.alerts.errors import AlertResolved, SilenceEnded
from controlplane.alerts.models import Alert, Silence
from controlplane.alerts.selectors.alerts import alert_get
from controlplane.alerts.selectors.rules import rule_get
from controlplane.alerts.types import ACTIVE
from controlplane.core import events
from controlplane.core.errors import Invalid

LONGEST: Final = timedelta(days=90)


def alert_acknowledge(*, row: Alert, actor: str, now: datetime) -> Alert:
    """Say that somebody looks after it. Raises AlertResolved."""
    with transaction.atomic():
        same = Alert.objects.filter(pk=row.pk, state__in=ACTIVE)
        changed = same.update(
            acknowledged_by=actor, acknowledged_at=now, number=F("number") + 1, updated_at=now
        )
        if not changed:
            raise AlertResolved(f"The alert {row.pk} is resolved.")
        events.record(
            actor=actor,
            verb="alert.acknowledged",
            subject=row.subject,
            message=f"{actor} looks after: {row.summary}",
            data={"alert": row.pk, "rule": row.rule},
        )
    return alert_get(row.pk)


def silence_create(
    *,
    project: str | None,
    rule: str,
    subject: str,
    reason: str,
    ends_at: datetime,
    actor: str,
    now: datetime,
) -> Silence:
    """Raises Invalid."""
    if rule:
        rule_get(rule)
    if not now < ends_at <= now + LONGEST:
        raise Invalid(
            f"ends_at: {ends_at.isoformat()}, expected a time within the next {LONGEST.days} days.",
            field="ends_at",
            hints=("What shall never be told is a rule to turn off: `shoal alert rule`.",),
        )
    row = Silence(
        id=uuid4().hex,
        project_id=project,
        rule=rule,
        subject=subject,
        reason=reason,
        starts_at=now,
        ends_at=ends_at,
        created_by=actor,
    )
    with transaction.atomic():
        row.save(force_insert=True)
        _record(row, "silence.created", actor, f"silenced {about(row)}: {reason}")
    return row


def silence_end(*, row: Silence, actor: str, now: datetime) -> Silence:
    """Now. What still fires is told then. Raises SilenceEnded."""
    with transaction.atomic():
        if not Silence.objects.filter(pk=row.pk, ends_at__gt=now).update(ends_at=now):
            raise SilenceEnded(f"The silence {row.pk} has ended already.")
        _record(row, "silence.ended", actor, f"ended the silence of {about(row)}")
    row.ends_at = now
    return row


def about(row: Silence) -> str:
    parts = [part for part in (row.rule, row.subject) if part]
    if row.project_id:
        parts.append(f"in the project {row.project_id}")
    return " ".join(parts) or "everything"


def _record(row: Silence, verb: str, actor: str, message: str) -> None:
    events.record(
        actor=actor,
        verb=verb,
        subject=row.subject or "installation",
        message=f"{actor} {message}",
        data={"silence": row.pk, "ends_at": row.ends_at.isoformat()},
    )
