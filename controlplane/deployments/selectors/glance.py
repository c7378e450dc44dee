"""All endpoints at a glance: how each of them serves, without the rows that showing it needs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models.fields.json import KeyTextTransform

from controlplane.deployments.idling import idle_rule
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.selectors.shown import Shown, endpoint_serving
from controlplane.deployments.serving import DEPLOYMENT_RULES, DeploymentFacts, serving
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState, ServingState

# What stands in the way of the autoscaler's last decision: the text, and a word for programs.
BLOCKED: Final[Mapping[str, Any]] = {
    name: KeyTextTransform(name, "autoscaler__decision") for name in ("blocked", "blocked_by")
}


@dataclass(frozen=True, slots=True)
class EndpointGlance:
    """An endpoint as far as whoever looks at all of them needs it; ``deployments`` are columns and
    states."""

    name: str
    traffic: Shown
    serving_state: ServingState
    deployments: tuple[Shown, ...]


def endpoints_glance() -> list[EndpointGlance]:
    """All of them by name, of columns alone: three queries, whatever their number."""
    ready: Counter[int] = Counter()
    running: Counter[int] = Counter()
    all_ready: Counter[int] = Counter()
    replicas = Replica.objects.values_list("deployment_id", "state", "desired")
    for deployment_id, state, desired in replicas.iterator():
        all_ready[deployment_id] += state == ReplicaState.READY
        if desired == Desired.RUNNING:
            running[deployment_id] += 1
            ready[deployment_id] += state == ReplicaState.READY
    columns = ("id", "endpoint_id", "name", "provisioning_state", "instance_count", "error")
    policies = ("paused_count", "autoscale")
    by_endpoint: dict[int, list[Shown]] = {}
    all_of_them = Deployment.objects.order_by("created_at", "id").annotate(**BLOCKED)
    for row in all_of_them.values(*columns, *policies, *BLOCKED):
        autoscale = row.pop("autoscale")
        if autoscale is None:  # what was decided by a policy of before
            row |= dict.fromkeys(BLOCKED)
        key, rule = row["id"], idle_rule(autoscale, row.pop("paused_count"))
        facts = DeploymentFacts(
            DeploymentState(row["provisioning_state"]),
            row["instance_count"],
            running[key],
            ready[key],
            wakes=rule is not None,
        )
        row["serving_state"] = serving(DEPLOYMENT_RULES, facts)
        row["replicas_ready"] = all_ready[key]
        by_endpoint.setdefault(row["endpoint_id"], []).append(row)
    found = []
    for pk, name, traffic in Endpoint.objects.order_by("name").values_list("id", "name", "traffic"):
        rows = by_endpoint.get(pk, [])
        for row in rows:
            row["traffic"] = traffic.get(row["name"], 0)
        found.append(EndpointGlance(name, traffic, endpoint_serving(rows), tuple(rows)))
    return found
