"""Objectives are set and removed; nothing else of an endpoint changes by that."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from controlplane.alerts.errors import TooManyObjectives
from controlplane.alerts.models import ObjectiveRow
from controlplane.alerts.selectors.objectives import objective_get
from controlplane.core import events
from controlplane.core.errors import Invalid
from controlplane.core.names import name_check
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.objectives import objective_asked

MOST = 10  # of one endpoint: each is looked at every few seconds


def objective_set(
    *,
    endpoint: str,
    name: str,
    kind: str,
    target_percent: float,
    window_days: int,
    threshold_ms: float | None,
    actor: str,
) -> tuple[ObjectiveRow, bool]:
    """The objective as it is now, and whether it is new. Raises Invalid, TooManyObjectives."""

    asked = objective_asked(
        kind=kind,
        target_percent=target_percent,
        window_days=window_days,
        threshold_ms=threshold_ms,
    )
    values: dict[str, Any] = {
        "kind": str(asked.kind),
        "target_percent": asked.target_percent,
        "window_days": asked.window_days,
        "threshold_ms": asked.threshold_ms,
    }
    with transaction.atomic():
        of = endpoint_get(endpoint)
        endpoint_lock(of.name)  # why: of two who make it at once the second changes what is there
        row = of.objectives.filter(name=name).first()
        if row is None and of.objectives.count() >= MOST:
            raise TooManyObjectives(f"{endpoint} has {MOST} objectives already.")
        before = _values(row) if row else None
        if row is None:
            name_check(name, field="name")
            row = of.objectives.create(name=name, created_by=actor, **values)
        else:
            for field, value in values.items():
                setattr(row, field, value)
            row.save()
        if before != values:
            events.record(
                actor=actor,
                verb="objective.set",
                subject=f"endpoint/{of.name}",
                message=f"Objective {name}: {told(row)}",
                before=before,
                after=values,
            )
    return row, before is None


@transaction.atomic
def objectives_set(*, endpoint: str, wanted: Sequence[Mapping[str, Any]], actor: str) -> None:
    """Just these, each as ``objective_set`` takes it; all others of the endpoint are removed.

    Raises Invalid, which names the field by its place in the list, and TooManyObjectives.
    """
    names = [one["name"] for one in wanted]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise Invalid(
                f"objectives.{place}.name: {name!r} is there twice, expected a name for each.",
                field=f"objectives.{place}.name",
            )
    for row in endpoint_get(endpoint).objectives.exclude(name__in=names).order_by("name"):
        objective_delete(endpoint=endpoint, name=row.name, actor=actor)
    for place, one in enumerate(wanted):
        try:
            objective_set(endpoint=endpoint, actor=actor, **one)
        except Invalid as error:
            error.field = f"objectives.{place}.{error.field}"
            error.message = f"objectives.{place}.{error.message}"
            raise


def objective_delete(*, endpoint: str, name: str, actor: str) -> None:
    with transaction.atomic():
        of = endpoint_get(endpoint)
        row = objective_get(of, name)
        row.delete()
        events.record(
            actor=actor,
            verb="objective.deleted",
            subject=f"endpoint/{of.name}",
            message=f"Objective {name} was removed",
            before=_values(row),
        )


def told(row: ObjectiveRow) -> str:
    what = "answered without a 5xx"
    if row.threshold_ms is not None:
        what = f"answered within {row.threshold_ms:g} ms"
    return f"{row.target_percent:g} % of requests {what}, over {row.window_days} days"


def _values(row: ObjectiveRow) -> dict[str, Any]:
    names = ("kind", "target_percent", "window_days", "threshold_ms")
    return {name: getattr(row, name) for name in names}
