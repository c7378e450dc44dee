"""What deletions left behind in the database of log lines, which has transactions of its own."""

from controlplane.deployments.models import Deployment
from controlplane.metrics.selectors import log_owners
from controlplane.metrics.services import logs_forget


def logs_sweep() -> int:
    """Drop log lines of deployments that are not there any more. Returns how many.

    The lines' owners are read first: lines of a deployment made meanwhile are not among them.
    """
    owners = log_owners()
    there = set(Deployment.objects.values_list("endpoint__name", "name"))
    gone = [owner for owner in owners if owner not in there]
    return sum(logs_forget(endpoint=endpoint, deployment=name) for endpoint, name in gone)
