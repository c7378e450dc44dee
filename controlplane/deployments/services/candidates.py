"""Placing among many nodes by looking at the few best: the database orders them, and names those.

The answer is the one that a look at all of them gives. What a node may be at best
(``placement.at_best``) orders the nodes; once every place that was taken is better than the last
node that was read may be, none of those behind it would have been taken.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Case, Count, F, Q, Value, When
from django.db.models.functions import Coalesce, Collate

from controlplane.deployments import placement
from controlplane.deployments.services.capacity import fleet
from controlplane.deployments.types import Desired
from controlplane.nodes.models import Node

FEW: Final = 16  # more nodes than replicas: some of the best refuse
MANY: Final = 512  # where so few take it, all are read
MORE: Final = 8  # times as many, where the few did not do


def placed(
    need: placement.Need,
    subject: placement.Subject,
    now: datetime,
    *,
    leaving: Collection[str] = (),
) -> placement.Placement:
    """``placement.place`` over all nodes; those of ``leaving`` count as cordoned.

    ``refusals`` are of every node where something is unplaced, else of those that were read.
    """
    size = FEW + len(need.ordinals)
    while size <= MANY:
        ids = _best(subject, size, leaving)
        offers = placement.offers_of(fleet(now, ids), subject)
        found = placement.place(need, offers)
        if found.unplaced or found.worst is None:
            if len(ids) < size:
                break  # all are read, but for what is closed, which says why
        elif len(ids) < size or found.worst <= max(map(placement.at_best, offers)):
            return found
        size *= MORE
    return placement.place(need, placement.offers_of(fleet(now).closed(leaving), subject))


def _best(subject: placement.Subject, count: int, leaving: Collection[str]) -> list[str]:
    """Ids of open nodes, ordered as ``placement.at_best`` orders them; ``subject`` is written."""
    running = Q(replicas__desired=Desired.RUNNING)
    own = running & Q(replicas__deployment=subject.deployment_id)
    files = running & Q(
        replicas__state__in=placement.DOWNLOADED | placement.FETCHING,
        replicas__revision__model_version=subject.version_id,
    )
    by_letter = "C" if connection.vendor == "postgresql" else "BINARY"  # as Python compares
    rows = (
        Node.objects.filter(cordoned=False)
        .exclude(pk__in=leaving)
        .values("id", "name", "disk_free_bytes")
        .annotate(
            running=Count("replicas", filter=running),
            siblings=Count("replicas", filter=own),
            files=Count("replicas", filter=files),
        )
        .order_by(
            "siblings",
            "running",
            Case(When(files=0, then=Value(1)), default=Value(0)),
            Coalesce(F("disk_free_bytes"), Value(0)).desc(),
            Collate("name", by_letter),
        )
    )
    return [row["id"] for row in rows[:count]]
