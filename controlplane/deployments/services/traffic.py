"""An endpoint's shares, written: who answers gets no copies, and nobody who is gone gets any; no
rule names who is gone."""

from datetime import datetime
from typing import Any

from controlplane.core import events
from controlplane.deployments.models import Endpoint
from controlplane.deployments.rules import rule_text, rules_without
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.services.traffic_changes import traffic_change_note
from controlplane.deployments.slots import slots_shared
from controlplane.deployments.traffic import mirror_beside
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState


def shares_write(
    endpoint: Endpoint,
    traffic: dict[str, int],
    *,
    actor: str,
    now: datetime,
    gone: str = "",
    mirror: dict[str, int] | None = None,
    watched: bool = True,
    **data: Any,
) -> None:
    """``traffic``, checked already, and what remains of the copies and rules beside it; gateways
    hear of it.

    ``gone`` is a deployment on its way out; ``mirror``: copies instead of those that there are;
    ``watched``: whether people are shown how the change does, and a way back; ``data`` goes into
    the events.
    """
    wanted = endpoint.mirror_traffic if mirror is None else mirror
    mirror = mirror_beside(wanted, traffic=traffic, gone=gone)
    rules = rules_without(endpoint.traffic_rules, gone)
    endpoint_generation_raise(
        [endpoint.pk],
        traffic=traffic,
        mirror_traffic=mirror,
        traffic_rules=rules,
        sticky_slots=slots_shared(endpoint.sticky_slots, traffic),
        updated_at=now,
    )
    traffic_change_note(
        endpoint,
        actor=actor,
        now=now,
        watched=watched,
        traffic=traffic,
        mirror_traffic=mirror,
        traffic_rules=rules,
    )
    if traffic != endpoint.traffic:
        events.record(
            actor=actor,
            verb="endpoint.traffic_changed",
            subject=f"endpoint/{endpoint.name}",
            message=f"Traffic of {endpoint.name} is now {shares_text(traffic)}",
            data={"traffic": traffic, "before": endpoint.traffic, **data},
        )
    if mirror != endpoint.mirror_traffic:
        mirror_record(endpoint, mirror, actor=actor, **data)
    if rules != endpoint.traffic_rules:
        rules_record(endpoint, rules, actor=actor, **data)


_SETTLED = (DeploymentState.SUCCEEDED, DeploymentState.SCALING)


def mirror_record(endpoint: Endpoint, mirror: dict[str, int], *, actor: str, **data: Any) -> None:
    events.record(
        actor=actor,
        verb="endpoint.mirror_changed",
        subject=f"endpoint/{endpoint.name}",
        message=f"Mirrored traffic of {endpoint.name} is now {shares_text(mirror)}",
        data={"mirror_traffic": mirror, "before": endpoint.mirror_traffic, **data},
    )


def rules_record(
    endpoint: Endpoint, rules: list[dict[str, Any]], *, actor: str, **data: Any
) -> None:
    told = "; ".join(map(rule_text, rules)) or "none"
    events.record(
        actor=actor,
        verb="endpoint.rules_changed",
        subject=f"endpoint/{endpoint.name}",
        message=f"Traffic rules of {endpoint.name} are now: {told}",
        data={"traffic_rules": rules, "before": endpoint.traffic_rules, **data},
    )


def shares_text(shares: dict[str, int]) -> str:
    told = ", ".join(f"{name} {percent} %" for name, percent in sorted(shares.items()))
    return told or "nobody"


def unready_deployments(endpoint: Endpoint) -> dict[str, str]:
    """Those that may not get traffic, and why: it needs a ready replica, or to be one that a
    request wakes, and to be settled.

    One that is being created or changed may have ready replicas already: who calls it Succeeded
    has more to see first, and takes it back if that fails.
    """
    found: dict[str, str] = {}
    for deployment in endpoint.deployments.all():
        woken = not deployment.instance_count and deployment.idle_rule is not None
        if not woken and not any(
            replica.desired == Desired.RUNNING and replica.state == ReplicaState.READY
            for replica in deployment.replicas.all()
        ):
            found[deployment.name] = "has no ready replica"
        elif deployment.provisioning_state not in _SETTLED:
            found[deployment.name] = f"is {deployment.provisioning_state}"
    return found
