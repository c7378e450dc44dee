"""Changing rules: for the whole installation, and thresholds for a project, an endpoint, a node."""

from typing import Any

from django.db import transaction

from controlplane.alerts.models import AlertRuleRow, AlertThreshold
from controlplane.alerts.rules import Rule, Settings
from controlplane.alerts.selectors.rules import (
    Subject,
    rule_get,
    rule_settings_get,
    threshold_of,
)
from controlplane.alerts.types import ThresholdKind
from controlplane.core import events
from controlplane.core.errors import Invalid


def rule_update(*, name: str, actor: str, **values: Any) -> Settings:
    """``values``: enabled, threshold, for_s, severity; null is as it is built in. Raises Invalid,
    AlertRuleNotFound."""
    before = rule_settings_get(name)
    if (threshold := values.get("threshold")) is not None:
        _check(before.rule, threshold)
    with transaction.atomic():
        row, _ = AlertRuleRow.objects.get_or_create(pk=name, defaults={"changed_by": actor})
        for field, value in values.items():
            empty: Any = {"severity": "", "enabled": True}.get(field)
            setattr(row, field, empty if value is None else value)
        row.changed_by = actor
        row.save()
        after = rule_settings_get(name)
        if after != before:
            events.record(
                actor=actor,
                verb="alert_rule.changed",
                subject="installation",
                message=f"{actor} changed the rule {name}",
                before=_plain(before),
                after=_plain(after),
            )
    return after


def _check(rule: Rule, threshold: float) -> None:
    if not rule.unit:
        raise Invalid(f"threshold: {rule.name} has none.", field="threshold")
    if not rule.least <= threshold <= rule.most:
        raise Invalid(
            f"threshold: {threshold:g}, expected {rule.least:,.10g} to {rule.most:,.10g} "
            f"{rule.unit} for {rule.name}.",
            field="threshold",
        )


def _plain(found: Settings) -> dict[str, Any]:
    return {
        "enabled": found.enabled,
        "threshold": found.threshold,
        "for_s": found.for_s,
        "severity": str(found.severity),
    }


def threshold_set(*, rule: str, subject: Subject, threshold: float, actor: str) -> None:
    """``subject`` has it from the next look on, whatever the installation has. Raises Invalid."""
    _check(rule_get(rule), threshold)
    with transaction.atomic():
        thing = subject.thing().select_for_update().order_by().get()
        row = threshold_of(rule, subject)
        before = row.threshold if row else None
        if before == threshold:
            return
        if row is None:
            row = AlertThreshold(rule=rule, **{subject.kind: thing})
        row.threshold, row.changed_by = threshold, actor
        row.save()
        _record(rule, subject, actor, before, threshold)


def threshold_remove(*, rule: str, subject: Subject, actor: str) -> None:
    """Then its project's counts, or the installation's. Harmless where it has none."""
    with transaction.atomic():
        subject.thing().select_for_update().order_by().get()
        row = threshold_of(rule, subject)
        if row is not None:
            row.delete()
            _record(rule, subject, actor, row.threshold, None)


def _record(
    rule: str, subject: Subject, actor: str, before: float | None, after: float | None
) -> None:
    what = "removed its own threshold" if after is None else f"set the threshold {after:g}"
    kind = "threshold_removed" if after is None else "threshold_set"
    told = {"rule": rule}
    if subject.kind == ThresholdKind.PROJECT:
        told["project"] = subject.name
    events.record(
        actor=actor,
        verb=f"alert_rule.{kind}",
        subject=subject.about,
        message=f"{actor} {what} of the rule {rule} for {subject.kind} {subject.name}",
        data=told,
        before={"threshold": before},
        after={"threshold": after},
    )
