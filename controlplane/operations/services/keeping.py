"""How long what has ended is kept: operations and rollouts, and what nodes did once."""

import logging
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from controlplane.deployments.services.sweeps import sweeps_prune
from controlplane.deployments.services.trials import trials_prune
from controlplane.deployments.services.tunings import tunings_prune
from controlplane.operations.models import Operation, Rollout
from controlplane.operations.selectors import latest_operations
from controlplane.operations.types import ACTIVE

logger = logging.getLogger(__name__)

BATCH: Final = 500  # deleted in one transaction, so that nobody waits for it


def operations_prune(*, now: datetime) -> int:
    """Drop those that ended longer ago than is kept, and rollouts. Returns how many operations.

    The latest of each deployment that is there stays, whatever its age: its page shows it.
    """
    if not settings.SHOAL_OPERATION_RETENTION_DAYS:
        return 0
    until = now - timedelta(days=settings.SHOAL_OPERATION_RETENTION_DAYS)
    kept = set(latest_operations().values())
    old = Operation.objects.filter(created_at__lt=until, finished_at__lt=until)
    found = old.exclude(state__in=ACTIVE).order_by("created_at").values_list("pk", flat=True)
    dropped = [pk for pk in found.iterator() if pk not in kept]
    for first in range(0, len(dropped), BATCH):
        Operation.objects.filter(pk__in=dropped[first : first + BATCH]).delete()
    Rollout.objects.filter(finished_at__lt=until).delete()
    if dropped:
        logger.info("Dropped %d operations that ended before %s", len(dropped), until.date())
    return len(dropped)


def runs_prune(*, now: datetime) -> None:
    """Drop trials, load sweeps and tunings that ended longer ago than each kind is kept."""
    trials_prune(now=now)
    sweeps_prune(now=now)
    tunings_prune(now=now)
