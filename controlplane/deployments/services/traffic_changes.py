"""The last change of an endpoint's traffic, kept so that everybody can watch it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from controlplane.deployments.models import Endpoint, TrafficChange
from controlplane.deployments.traffic_watch import moved, shares_of, state_of, takes_back


def traffic_change_note(
    endpoint: Endpoint,
    *,
    actor: str,
    now: datetime,
    watched: bool = True,
    **shares: Mapping[str, Any] | list[dict[str, Any]],
) -> None:
    """``endpoint``, as it was, has just been given ``shares``; the caller holds it.

    One that is not ``watched`` ends the watch of the change before. What one request changes one
    after the other is one change: it has one actor and one moment.
    """
    before = shares_of(endpoint)
    after = {**before, **shares}
    if not moved(before, after):
        return
    rows = TrafficChange.objects.filter(pk=endpoint.pk)
    if not watched:
        rows.delete()
        return
    generation = Endpoint.objects.values_list("generation", flat=True).get(pk=endpoint.pk)
    last = rows.first()
    if last is not None and last.undone_at is None:
        if (last.changed_at, last.actor) == (now, actor):
            rows.update(after=after, generation=generation)
            return
        told = state_of(
            changed_at=last.changed_at, routed_at=last.routed_at, undone_at=None, now=now
        )
        if told is not None and takes_back(last.before, last.after, after):
            rows.update(undone_by=actor, undone_at=now)
            return
    if last is not None and (last.undone_at, last.undone_by) == (now, actor):
        return
    TrafficChange.objects.update_or_create(
        endpoint=endpoint,
        defaults={
            "before": before,
            "after": after,
            "actor": actor,
            "changed_at": now,
            "generation": generation,
            "routed_at": None,
            "undone_by": "",
            "undone_at": None,
        },
    )


def traffic_change_routed(endpoint_id: int, confirmed: int, now: datetime) -> None:
    """Gateways route ``confirmed`` of the endpoint's numbers."""
    rows = TrafficChange.objects.filter(pk=endpoint_id, routed_at=None)
    rows.filter(generation__lte=confirmed).update(routed_at=now)
