"""What feeds read, as plain data. Synchronous: feeds call these in database threads."""

import time
from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Max
from django.utils import timezone

from controlplane.accounts.scope import Scope, within
from controlplane.accounts.selectors import events_shown
from controlplane.bottlenecks.pipeline_reads import pipeline_of
from controlplane.bottlenecks.serializers import PipelineSerializer
from controlplane.core.models import Event
from controlplane.deployments.selectors import (
    deployment_get,
    endpoint_get,
    endpoint_shown,
    nodes_running,
)
from controlplane.deployments.serializers.endpoints import EndpointSerializer
from controlplane.events.selectors import EventFilter
from controlplane.events.serializers import EventSerializer
from controlplane.metrics import selectors as metrics
from controlplane.metrics.services import watch
from controlplane.nodes import wake_ups
from controlplane.operations.selectors import latest_operations, operation_get, operation_shown
from controlplane.operations.serializers import OperationSerializer
from controlplane.overview.selectors import overview
from controlplane.overview.serializers import OverviewSerializer

EVENTS_OVERLAP = 64  # numbers below the newest that a late transaction may still bring
EVENTS_LIMIT = 200  # frames of one greeting: far below what an outbox holds for a slow browser


def endpoint_state(name: str) -> dict[str, Any]:
    """The REST object. Raises EndpointNotFound."""
    endpoint = endpoint_get(name)
    shown = endpoint_shown(endpoint, latest_operations([name]))
    return dict(EndpointSerializer(shown).data)


def endpoint_watch(name: str) -> None:
    """Somebody watches; the agents concerned are told at once, or chart nothing for seconds."""
    if watch(name):
        wake_ups.wake_on_commit(nodes_running(name))
        wake_ups.gateways_wake_on_commit()


def endpoint_series(name: str, range_s: float, keys: list[str] | None = None) -> dict[str, Any]:
    columns = metrics.live_series(name, range_s, keys)
    return {"keys": columns.keys, "t": columns.t, "v": columns.v}


def endpoint_tick(following: metrics.Following) -> tuple[list[str], float, list[float | None]]:
    """Keys, the moment, and one value per key."""
    now = time.time()
    keys, values = following.tick(now)
    return keys, now, values


def pipeline_state(endpoint: str, deployment: str) -> dict[str, Any]:
    """The REST object. Raises EndpointNotFound, DeploymentNotFound."""
    found = pipeline_of(deployment_get(endpoint, deployment), time.time())
    return dict(PipelineSerializer(found).data)


def operation_state(operation_id: str) -> dict[str, Any]:
    """The REST object. Raises OperationNotFound."""
    shown = operation_shown(operation_get(operation_id))
    return dict(OperationSerializer(shown).data)


def events_newest(*, people: bool) -> int:
    """Number of the newest event that a reader may see, 0 when there is none."""
    return events_shown(people=people).aggregate(newest=Max("seq"))["newest"] or 0


def events_after(seq: int, *, people: bool) -> list[dict[str, Any]]:
    """The events next behind ``seq``, oldest first, at most EVENTS_LIMIT."""
    return _shown(events_shown(people=people).filter(seq__gt=seq).order_by("seq")[:EVENTS_LIMIT])


def events_missed(
    seq: int, *, people: bool, projects: Scope = None
) -> tuple[list[dict[str, Any]], bool]:
    """All events behind ``seq``, and True; the newest EVENTS_LIMIT and False when there are more.
    Of ``projects`` alone, if any are given.

    A number beyond the newest is from another database: nothing that its holder knows continues.
    """
    known = seq <= events_newest(people=people)
    with within(projects):
        behind = EventFilter(people=people).rows().filter(seq__gt=seq if known else 0)
        rows = list(behind.order_by("-seq")[: EVENTS_LIMIT + 1])
    return _shown(reversed(rows[:EVENTS_LIMIT])), known and len(rows) <= EVENTS_LIMIT


def events_within(seqs: Collection[int], projects: Scope) -> set[int]:
    """Those of the events with these numbers that are about things in ``projects``."""
    with within(projects):
        rows = EventFilter(people=False).rows().filter(seq__in=seqs)
        return set(rows.values_list("seq", flat=True))


def _shown(rows: Iterable[Event]) -> list[dict[str, Any]]:
    return [EventSerializer().to_representation(row) for row in rows]


def overview_state(*, people: bool) -> dict[str, Any]:
    """The REST object."""
    return dict(OverviewSerializer(overview(timezone.now(), people=people)).data)
