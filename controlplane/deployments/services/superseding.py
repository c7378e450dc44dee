"""A change that does not wait: what is under way in its place ends first, as if cancelled."""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from controlplane.core import events
from controlplane.deployments.models import Operation
from controlplane.deployments.reconcile import DELETIONS
from controlplane.deployments.selectors import operations_active
from controlplane.deployments.services.endings import operation_end_canceled
from controlplane.deployments.services.operations import describe
from controlplane.deployments.types import ACTIVE


@transaction.atomic
def operations_supersede(
    *,
    endpoint: str,
    deployment: str | None,
    actor: str,
    now: datetime,
    moving_traffic: bool = False,
) -> int:
    """End what is under way at a deployment, or anywhere at the endpoint; deletions go on.

    The caller holds the endpoint and makes its own change in the same transaction: if that is
    refused, what was under way goes on. ``moving_traffic``: only what is about to move traffic.
    Returns how many have been ended.
    """
    ended = 0
    for running in operations_active(endpoint, deployment):
        if running.kind in DELETIONS:
            continue
        if moving_traffic and not running.parameters.get("traffic"):
            continue
        # why a new revision: a step that another process has decided on is not taken any more
        mine = Operation.objects.filter(pk=running.pk, state__in=ACTIVE).update(
            revision=F("revision") + 1, cancel_requested=True
        )
        if not mine:
            continue  # it has just ended
        running.refresh_from_db()
        events.record(
            actor=actor,
            verb="operation.superseded",
            subject=f"endpoint/{endpoint}",
            message=f"{actor} goes on with something else than: {describe(running)}",
            data={"operation": running.id, "deployment": running.deployment},
        )
        operation_end_canceled(running, now)
        ended += 1
    return ended
