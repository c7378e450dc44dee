"""What nodes report of their replicas, written into rows as far as it is believed."""

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Replica
from controlplane.deployments.services.capacity import footprint_remember
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.services.locks import endpoints_lock
from controlplane.deployments.services.reach import Reach, unreachable
from controlplane.deployments.states import REPLICAS, ReplicaCause
from controlplane.deployments.types import NO_GPU_MEMORY, Desired, ReplicaState
from controlplane.nodes.claims import Violation, address_refused
from controlplane.nodes.models import Node
from controlplane.nodes.services import node_seen
from wire import codec
from wire.addresses import host_address
from wire.messages import REPLICA_STATES, NodeReport, ObservedReplica

ROUTING: Final = ("address", "http_port", "grpc_port")  # what gateways must hear of


@transaction.atomic
def replicas_observe(
    node: Node, report: NodeReport, now: datetime, violations: Sequence[Violation]
) -> tuple[Collection[Replica], set[int], list[Violation]]:
    """Write what changed; returns the node's replicas, the deployments of those that did, and what
    of the report is not believed."""
    violations = list(violations)
    refused = address_refused(node, report.node, now)
    if refused:
        violations.append(Violation("node.address", report.node.address, refused))
    reach = Reach(node, "" if refused else host_address(report.node.address))
    rows = {
        row.pk: row
        for row in Replica.objects.filter(node=node).select_related("deployment__endpoint")
    }
    changed: list[tuple[Replica, ObservedReplica]] = []
    mentioned = set()
    for observed in report.replicas:
        row = rows.get(observed.replica_id)
        mentioned.add(observed.replica_id)
        if row is None or observed.generation != row.generation:
            continue  # about somebody else
        if wrong := reach.violation(row, observed, now):
            violations.append(wrong)
            observed = unreachable(observed, wrong)
        elif observed.http_port:  # the node's own, also where it spells it otherwise or not at all
            observed = dataclasses.replace(observed, address=reach.address)
        if _is_news(row, observed):
            changed.append((row, observed))
    silent = [
        row
        for row in rows.values()
        if row.pk not in mentioned and row.state != ReplicaState.STOPPED
    ]
    gone = [
        row
        for row in silent
        if row.desired == Desired.STOPPED and report.observed_generation >= row.node_generation
    ]
    # the node is back without them, and starts them
    back = [
        row
        for row in silent
        if row.desired == Desired.RUNNING and row.state == ReplicaState.UNKNOWN
    ]
    touched = [*(row for row, _ in changed), *gone, *back]
    endpoints_lock(row.deployment.endpoint_id for row in touched)
    _written([_observed(row, observed) for row, observed in changed], now)
    for row, observed in changed:
        if observed.error is not None and observed.error.code == NO_GPU_MEMORY:
            _gpu_memory(row, observed, now)
    node_seen(
        node=node,
        info=report.node,
        observed_generation=report.observed_generation,
        now=now,
        sent_at=report.sent_at,
        violations=violations,
        address_refused=refused,
    )
    stopped = {"state": ReplicaState.STOPPED}
    pending = {"state": ReplicaState.PENDING, "observed": {}}
    _written([(row, ReplicaCause.ABSENT, stopped) for row in gone], now)
    _written([(row, ReplicaCause.BACK, pending) for row in back], now)
    # why skip and why last: their endpoints are not held, so this must wait for nobody. What
    # somebody else is just changing is told the time with the next report.
    here = Replica.objects.filter(pk__in=[pk for pk in rows if pk in mentioned])
    free = here.select_for_update(no_key=True, skip_locked=True).values("pk")
    Replica.objects.filter(pk__in=free).update(last_report_at=now)
    return rows.values(), {row.deployment_id for row in touched}, violations


def _is_news(row: Replica, observed: ObservedReplica) -> bool:
    if observed.state not in REPLICA_STATES:
        return False
    return observed.state != row.state or codec.as_data(observed) != row.observed


Change = tuple[Replica, ReplicaCause, dict[str, Any]]  # what became of a replica, and its columns


def _observed(row: Replica, observed: ObservedReplica) -> Change:
    data = codec.as_data(observed)
    changes: dict[str, Any] = {"observed": data, "state": observed.state}
    if data["error"] is not None:
        changes["error"] = data["error"]
    elif row.desired == Desired.RUNNING:
        changes["error"] = None
    if observed.state == ReplicaState.READY:
        changes["attempts"] = row.attempts if row.state == ReplicaState.READY else 0
    return row, ReplicaCause.REPORT, changes


def _gpu_memory(row: Replica, observed: ObservedReplica, now: datetime) -> None:
    """Remember what a load needs; tell once of one that serves and runs out again and again."""
    if observed.gpu_needed_bytes and observed.state == ReplicaState.FAILED:
        footprint_remember(row, observed.gpu_needed_bytes, now)
    if observed.state == ReplicaState.READY and row.error is None and observed.error is not None:
        deployment = row.deployment
        events.record(
            actor="system",
            verb="replica.strained",
            subject=f"endpoint/{deployment.endpoint.name}",
            message=f"Replica {row.ordinal} of {deployment.name}: {observed.error.message}",
            severity=Event.Severity.WARNING,
            data={"deployment": deployment.name, "replica": row.pk, "code": NO_GPU_MEMORY},
        )


def _written(found: Sequence[Change], now: datetime) -> None:
    """Compare-and-set on each generation; then the events and the endpoints' numbers, at once."""
    rerouted: set[int] = set()
    told: list[Event] = []
    for row, cause, changes in found:
        state = ReplicaState(changes["state"])
        others = {name: value for name, value in changes.items() if name != "state"}
        if state != row.state:
            others["state_since"] = now
        same = Replica.objects.filter(pk=row.pk, generation=row.generation)
        if not REPLICAS.write(same, cause, state, **others):
            continue
        if _matters_for_routing(row.state, row.observed, changes):
            rerouted.add(row.deployment.endpoint_id)
        if state != row.state:
            told.append(_event(row, changes))
    if rerouted:
        endpoint_generation_raise(rerouted)
    events.record_all(told)


def _matters_for_routing(state: str, observed: dict[str, Any], changes: dict[str, Any]) -> bool:
    routed = (ReplicaState.READY, ReplicaState.DRAINING, ReplicaState.UNKNOWN)
    if state != changes["state"]:
        return state in routed or changes["state"] in routed
    new = changes.get("observed", observed)
    return state in routed and any(observed.get(key) != new.get(key) for key in ROUTING)


MESSAGES = {
    ReplicaState.READY: ("replica.ready", "is ready"),
    ReplicaState.FAILED: ("replica.failed", "failed"),
    ReplicaState.DRAINING: ("replica.draining", "finishes what it is doing"),
    ReplicaState.STOPPED: ("replica.stopped", "has stopped"),
    ReplicaState.DOWNLOADING: ("replica.downloading", "downloads its model"),
    ReplicaState.STARTING: ("replica.starting", "starts"),
    ReplicaState.LOADING: ("replica.loading", "loads its model"),
    ReplicaState.WARMING: ("replica.warming", "answers its first inference"),
    ReplicaState.PENDING: ("replica.pending", "is to be started"),
}


def _event(row: Replica, changes: dict[str, Any]) -> Event:
    state = ReplicaState(changes["state"])
    verb, text = MESSAGES[state]
    severity = Event.Severity.INFO
    if row.state == ReplicaState.READY and row.desired == Desired.RUNNING:
        ended = changes.get("observed", {}).get("ended", "")
        cause = f"its runtime {ended}; " if ended else ""
        text = f"is no longer ready: {cause}it {text}"
        severity = Event.Severity.WARNING
    error = changes.get("error")
    if state == ReplicaState.FAILED:
        severity = Event.Severity.ERROR
        text += f": {error['message']}" if error else ""
    deployment = row.deployment
    return Event(
        actor="system",
        verb=verb,
        subject=f"endpoint/{deployment.endpoint.name}",
        message=f"Replica {row.ordinal} of {deployment.name} {text}",
        severity=severity,
        data={"deployment": deployment.name, "replica": row.pk, "state": state.value},
    )
