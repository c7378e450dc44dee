"""Where Prometheus finds the runtimes' own metrics."""

from dataclasses import dataclass

from controlplane.deployments.models import Replica
from controlplane.deployments.selectors.routing import reachable_at
from controlplane.deployments.types import Desired


@dataclass(frozen=True, slots=True)
class ScrapeTarget:
    """The metrics port of one replica that is up, or coming up, and what to call it."""

    address: str  # host:port, as the node's agent reports it
    endpoint: str
    deployment: str
    replica: str  # the replica's id
    node: str


def scrape_targets() -> list[ScrapeTarget]:
    """One for every replica with a process, by endpoint, deployment and number, in one query."""
    replicas = (
        Replica.objects.filter(desired=Desired.RUNNING)
        .select_related("deployment__endpoint", "node")
        .order_by("deployment__endpoint__name", "deployment__name", "ordinal", "id")
    )
    return [
        ScrapeTarget(
            address=f"{f'[{host}]' if ':' in host else host}:{replica.observed['metrics_port']}",
            endpoint=replica.deployment.endpoint.name,
            deployment=replica.deployment.name,
            replica=replica.id,
            node=replica.node.name,
        )
        for replica in replicas
        if replica.observed.get("metrics_port")
        if (host := reachable_at(replica.observed)) is not None
    ]
