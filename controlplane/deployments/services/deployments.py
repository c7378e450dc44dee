"""Deployments where nothing has to start: what is said of one, what deleted ones left."""

from typing import Any

from django.db import transaction

from controlplane.core.changes import change
from controlplane.deployments.models import Autoscaler, Deployment
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.spec import ROUTED
from controlplane.metrics.selectors.logs import log_owners
from controlplane.metrics.services.keeping import logs_forget


@transaction.atomic
def deployment_update(*, endpoint: str, name: str, actor: str, **changes: Any) -> Deployment:
    """The words about it, and what gateways need to know; no replica notices.

    ``changes``: settings of ``spec.DESCRIPTIVE`` and ``spec.ROUTED``.
    Raises EndpointNotFound, DeploymentNotFound.
    """
    endpoint_lock(endpoint)
    row = deployment_get(endpoint, name)
    rule = row.idle_rule  # gateways hold requests by it
    changed = change(
        row,
        changes,
        actor=actor,
        verb="deployment.updated",
        subject=f"endpoint/{endpoint}",
        named=f"{endpoint}/{name}",
        data={"deployment": name},
    )
    if "autoscale" in changed:  # what the load asked for under another policy says nothing
        Autoscaler.objects.filter(deployment=row).delete()
    if not set(changed).isdisjoint(ROUTED) or row.idle_rule != rule:
        endpoint_generation_raise([row.endpoint_id])
    return row


def logs_sweep() -> int:
    """Drop log lines of deployments that are not there any more. Returns how many.

    The lines' owners are read first: lines of a deployment made meanwhile are not among them.
    """
    owners = log_owners()
    there = set(Deployment.objects.values_list("endpoint__name", "name"))
    gone = [owner for owner in owners if owner not in there]
    return sum(logs_forget(endpoint=endpoint, deployment=name) for endpoint, name in gone)
