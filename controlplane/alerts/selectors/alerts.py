"""Alerts and silences: found, and as the API shows them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from controlplane.alerts.errors import AlertNotFound, SilenceNotFound
from controlplane.alerts.messages import Message, page_of, title_of
from controlplane.alerts.models import Alert, Silence
from controlplane.alerts.rules import RULES
from controlplane.alerts.types import ACTIVE, AlertState


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """Empty fields let everything through."""

    states: Sequence[str] = ()
    rule: str = ""
    subject: str = ""
    project: str = ""
    q: str = ""

    def rows(self) -> QuerySet[Alert]:
        wanted = {
            "state__in": self.states,
            "rule": self.rule,
            "subject": self.subject,
            "project": self.project,
        }
        rows = Alert.objects.filter(**{name: value for name, value in wanted.items() if value})
        if self.q:
            rows = rows.filter(
                Q(subject__icontains=self.q) | Q(part__icontains=self.q) | Q(rule__icontains=self.q)
            )
        return rows


def alert_get(alert_id: str) -> Alert:
    """Raises AlertNotFound."""
    row = Alert.objects.filter(pk=alert_id).first()
    if row is None:
        raise AlertNotFound(f"There is no alert {alert_id[:60]!r}.")
    return row


def alerts_active() -> QuerySet[Alert]:
    return Alert.objects.filter(state__in=ACTIVE)


def alert_counts(now: datetime) -> dict[str, int]:
    """For the side bar: those that fire, and are neither silenced nor acknowledged, first."""
    rows = list(alerts_active().only("rule", "subject", "project", "state", "acknowledged_by"))
    silences = silences_now(now)
    firing = [row for row in rows if row.state == AlertState.FIRING]
    quiet = [row for row in firing if row.acknowledged_by or silence_of(row, silences)]
    return {
        "open": len(firing) - len(quiet),
        "firing": len(firing),
        "pending": len(rows) - len(firing),
    }


def silences_now(now: datetime) -> list[Silence]:
    return list(
        Silence.objects.filter(starts_at__lte=now, ends_at__gt=now).order_by("-ends_at", "id")
    )


def silence_list() -> QuerySet[Silence]:
    return Silence.objects.all()


def silence_get(silence_id: str) -> Silence:
    """Raises SilenceNotFound."""
    row = Silence.objects.filter(pk=silence_id).first()
    if row is None:
        raise SilenceNotFound(f"There is no silence {silence_id[:60]!r}.")
    return row


def silences_match(silence: Silence, rule: str, subject: str, project: str | None) -> bool:
    return (
        silence.rule in ("", rule)
        and silence.subject in ("", subject)
        and silence.project_id in (None, project)
    )


def silence_of(row: Alert, silences: Iterable[Silence]) -> Silence | None:
    """The one that ends last of those that match."""
    found = (one for one in silences if silences_match(one, row.rule, row.subject, row.project_id))
    return next(found, None)


def alert_shown(row: Alert, silences: Iterable[Silence]) -> dict[str, Any]:
    silence = silence_of(row, silences) if row.state in ACTIVE else None
    rule = RULES.get(row.rule)
    return {
        **{
            name: getattr(row, name)
            for name in (
                "id", "rule", "subject", "part", "severity", "state", "value", "summary", "untold",
                "started_at", "fired_at", "resolved_at", "resolution", "acknowledged_by",
                "acknowledged_at", "notified_at",
            )
        },
        "title": title_of(row.rule),
        "project": row.project_id,
        "silenced_until": silence.ends_at if silence else None,
        "silence": silence.pk if silence else "",
        "page": page_of(row.subject),
        "runbook": rule.runbook if rule else "",
    }  # fmt: skip


def message_of(row: Alert, event: str) -> Message:
    """What channels are told of it."""
    public = settings.SHOAL_PUBLIC_URL.rstrip("/")
    rule = RULES.get(row.rule)
    return Message(
        event=event,
        id=row.pk,
        rule=row.rule,
        title=title_of(row.rule),
        severity=row.severity,
        subject=row.subject,
        part=row.part,
        project=row.project_id or "",
        summary=row.summary,
        value=row.value,
        started_at=row.started_at.isoformat(),
        resolved_at=row.resolved_at.isoformat() if row.resolved_at else "",
        resolution=row.resolution,
        url=f"{public}{page_of(row.subject)}",
        alert_url=f"{public}/alerts?alert={row.pk}",
        runbook=rule.runbook if rule else "",
        runbook_url=f"{public}/alerts?tab=rules&rule={row.rule}" if rule else "",
    )
