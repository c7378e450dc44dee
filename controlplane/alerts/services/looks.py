"""One look at everything that the rules are about; what has changed is kept and told.

Beat sends it, led by one. Two workers that look at once do no harm: an alert is unique while it is
active, and each change compares and sets its number, so that one of them makes it and tells it.
"""

import logging
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import F

from controlplane.alerts.evaluation import (
    Look,
    Memory,
    Observation,
    Turn,
    gone,
    look,
    verdict,
)
from controlplane.alerts.messages import FIRING, RESOLVED, title_of
from controlplane.alerts.models import Alert, Channel
from controlplane.alerts.rules import Settings
from controlplane.alerts.selectors.alerts import alerts_active, silence_of, silences_now
from controlplane.alerts.selectors.facts import FACTS
from controlplane.alerts.selectors.rules import rule_settings
from controlplane.alerts.services import restarts
from controlplane.alerts.services.deliveries import deliveries_add
from controlplane.alerts.states import ALERTS, AlertCause
from controlplane.alerts.types import (
    HOLDS_AGAIN,
    REPEAT_AFTER,
    RULE_OFF,
    SUBJECT_GONE,
    AlertState,
    ChannelKind,
    Severity,
)
from controlplane.core import events
from controlplane.core.models import Event

logger = logging.getLogger(__name__)
ACTOR = "alerts"
EVENT_SEVERITY = {Severity.PAGE: Event.Severity.ERROR, Severity.TICKET: Event.Severity.WARNING}
Key = tuple[str, str, str]


def alerts_look(*, now: datetime) -> int:
    """Evaluate every rule. One that fails does not keep the others from it, and its alerts stay as
    they are. Returns how many alerts are active after it."""
    settings = rule_settings()
    active: dict[Key, Alert] = {(r.rule, r.subject, r.part): r for r in alerts_active()}
    for name, rule in settings.items():
        mine = {key: row for key, row in active.items() if key[0] == name}
        try:
            _rule(rule, mine, now)
        except Exception:
            logger.exception("The rule %s could not be evaluated, the next look tries again", name)
    _tell(now)
    return alerts_active().count()


def _rule(rule: Settings, active: dict[Key, Alert], now: datetime) -> None:
    seen: list[Observation] = []
    if rule.enabled:
        observe = FACTS.get(rule.rule.name, restarts.observe)
        # why all at once: what is missing has gone only where all was seen
        seen = list(observe(rule, now))
    for one in seen:
        _apply(active.pop(one.key, None), one, rule, now)
    reason = SUBJECT_GONE if rule.enabled else RULE_OFF
    for row in active.values():
        _end(row, gone(memory_of(row)), reason, now)


def memory_of(row: Alert) -> Memory:
    return Memory(AlertState(row.state), row.held_s, row.clear_s, row.looked_at.timestamp())


def _apply(row: Alert | None, seen: Observation, rule: Settings, now: datetime) -> None:
    memory = memory_of(row) if row else Memory()
    is_broken = verdict(rule.rule, seen, memory.state == AlertState.FIRING)
    found = look(memory, is_broken, rule, now.timestamp())
    if row is None:
        if found.turn != Turn.NONE:
            _begin(found, seen, rule, now)
        return
    if found.turn in (Turn.DROP, Turn.RESOLVE):
        _end(row, found.turn, HOLDS_AGAIN, now, value=seen.value)
        return
    kept: dict[str, Any] = {
        "held_s": found.memory.held_s,
        "clear_s": found.memory.clear_s,
        "looked_at": now,
        "untold": seen.untold,
        "severity": rule.severity,
    }
    if is_broken:
        kept |= {"summary": seen.summary, "value": seen.value}
    with transaction.atomic():
        same = Alert.objects.filter(pk=row.pk, number=row.number)
        if found.turn == Turn.FIRE:
            changed = ALERTS.write(
                same, AlertCause.FIRE, fired_at=now, number=F("number") + 1, **kept
            )
            if changed:
                _record(row, rule, seen.summary)
        else:
            same.update(number=F("number") + 1, updated_at=now, **kept)


def _begin(found: Look, seen: Observation, rule: Settings, now: datetime) -> None:
    firing = found.turn == Turn.FIRE
    row = Alert(
        id=uuid4().hex,
        rule=seen.rule,
        subject=seen.subject,
        part=seen.part,
        project_id=seen.project,
        severity=rule.severity,
        state=AlertState.FIRING if firing else AlertState.PENDING,
        value=seen.value,
        summary=seen.summary,
        looked_at=now,
        started_at=now,
        fired_at=now if firing else None,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            if firing:
                _record(row, rule, seen.summary)
    except IntegrityError:
        logger.info("%s was begun by another look", row)


def _record(row: Alert, rule: Settings, summary: str) -> None:
    events.record(
        actor=ACTOR,
        verb="alert.fired",
        subject=row.subject,
        message=f"{title_of(row.rule)}: {summary}",
        severity=EVENT_SEVERITY[rule.severity],
        data={"alert": row.pk, "rule": row.rule, "part": row.part},
    )


def _end(row: Alert, turn: Turn, reason: str, now: datetime, *, value: float | None = None) -> None:
    with transaction.atomic():
        same = Alert.objects.filter(pk=row.pk, number=row.number)
        if turn == Turn.DROP:
            same.filter(state=AlertState.PENDING).delete()
            return
        changed = ALERTS.write(
            same,
            AlertCause.RESOLVE,
            resolved_at=now,
            resolution=reason,
            untold="",
            looked_at=now,
            number=F("number") + 1,
        )
        if not changed:
            return
        row.refresh_from_db()
        events.record(
            actor=ACTOR,
            verb="alert.resolved",
            subject=row.subject,
            message=f"{title_of(row.rule)}: resolved. {reason}",
            data={"alert": row.pk, "rule": row.rule, "part": row.part, "value": value},
        )
        if row.notified_at is not None:
            deliveries_add(row, RESOLVED, _channels(), now)


def _tell(now: datetime) -> None:
    """Channels hear of what fires and is not silenced: once, and Alertmanager again and again."""
    silences = silences_now(now)
    firing = list(alerts_active().filter(state=AlertState.FIRING).order_by("fired_at", "pk"))
    due = [row for row in firing if silence_of(row, silences) is None]
    channels = _channels() if due else []
    for row in due:
        if row.notified_at is None:
            _tell_one(row, channels, now)
        elif now - row.notified_at >= REPEAT_AFTER:
            again = [one for one in channels if one.kind == ChannelKind.ALERTMANAGER]
            _tell_one(row, again, now)


def _tell_one(row: Alert, channels: list[Channel], now: datetime) -> None:
    with transaction.atomic():
        same = Alert.objects.filter(pk=row.pk, number=row.number, state=AlertState.FIRING)
        if same.update(notified_at=now, number=F("number") + 1):
            deliveries_add(row, FIRING, channels, now)


def _channels() -> list[Channel]:
    return list(Channel.objects.filter(enabled=True).order_by("name"))
