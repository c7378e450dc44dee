"""The whole installation at a glance, and what in it wants attention."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.accounts.selectors import events_shown
from controlplane.core.models import Event
from controlplane.deployments.models import Operation, Replica
from controlplane.deployments.selectors.rows import endpoint_list, operation_list
from controlplane.deployments.selectors.shown import (
    Shown,
    endpoints_shown,
    operation_shown,
    replica_shown,
)
from controlplane.deployments.types import (
    DeploymentState,
    Desired,
    OperationState,
    ReplicaState,
    ServingState,
)
from controlplane.metrics.selectors import live_now
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import (
    labels_of,
    liveness_of,
    node_age_s,
    node_conditions,
    node_list,
    node_state,
)
from controlplane.registry.models import Model

RECENT = 10


def nodes_shown(nodes: list[Node], now: datetime) -> list[Shown]:
    """Nodes with the replicas that run, or are being stopped, on them."""
    rows: dict[str, list[Shown]] = {node.id: [] for node in nodes}
    replicas = (
        Replica.objects.filter(node__in=nodes)
        .exclude(desired=Desired.STOPPED, state__in=[ReplicaState.STOPPED, ReplicaState.FAILED])
        .select_related("node", "deployment__endpoint")
        .order_by("deployment__endpoint__name", "deployment__name", "ordinal")
    )
    for replica in replicas:
        deployment = replica.deployment
        shown = replica_shown(replica, deployment.endpoint.name, deployment.name)
        rows[replica.node_id].append(shown)
    return [_node(node, rows[node.id], now) for node in nodes]


def _node(node: Node, replicas: list[Shown], now: datetime) -> Shown:
    return {
        "id": node.id,
        "name": node.name,
        "state": node_state(node, now),
        "rule": asdict(liveness_of(node)),
        "conditions": node_conditions(node, now),
        "cordoned": node.cordoned,
        "labels": labels_of(node),
        "drain": None
        if node.drain_started_at is None
        else {
            "started_at": node.drain_started_at,
            "deadline_at": node.drain_deadline_at,
            "done": node.drain_deadline_at is None,
        },
        "info": node.info,
        "last_seen_at": node.last_seen_at,
        "certificate_ends_at": node.certificate_ends_at if node.certified_at else None,
        "age_s": node_age_s(node, now),
        "replicas": replicas,
    }


def overview(now: datetime, *, people: bool) -> Shown:
    endpoints = endpoints_shown(endpoint_list())
    nodes = nodes_shown(list(node_list()), now)
    operations = list(operation_list()[:RECENT])
    replicas = [
        replica
        for endpoint in endpoints
        for deployment in endpoint["deployments"]
        for replica in deployment["replicas"]
    ]
    live = live_now([endpoint["name"] for endpoint in endpoints], now.timestamp())
    return {
        "counts": {
            "endpoints": len(endpoints),
            "models": Model.objects.filter(archived=False).count(),
            "nodes": len(nodes),
            "nodes_online": sum(node["state"] == "online" for node in nodes),
            "replicas_ready": sum(r["state"] == ReplicaState.READY for r in replicas),
            "replicas_total": sum(
                deployment["instance_count"]
                for endpoint in endpoints
                for deployment in endpoint["deployments"]
                if deployment["provisioning_state"]
                not in (DeploymentState.FAILED, DeploymentState.CANCELED)
            ),
        },
        "attention": attention(endpoints, nodes),
        "endpoints": [endpoint | {"live": live[endpoint["name"]]} for endpoint in endpoints],
        "nodes": nodes,
        "recent_operations": [operation_shown(operation) for operation in operations],
        "recent_events": events_recent(people=people),
    }


def attention(endpoints: list[Shown], nodes: list[Shown]) -> list[Shown]:
    """What somebody should look at, the worst first."""
    found = [item for node in nodes for item in _node_attention(node)]
    for endpoint in endpoints:
        found += _endpoint_attention(endpoint)
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda item: order[item["severity"]])


def _node_attention(node: Shown) -> list[Shown]:
    if node["state"] == "online":
        return [
            _item(
                "warning", f"Node {node['name']}: {it.code}", it.message, f"/nodes/{node['name']}"
            )
            for it in node["conditions"]
            if it.code != "VersionSkew"  # as long as an upgrade lasts; the node's page says so
        ]
    age = "never reported" if node["age_s"] is None else f"last report {node['age_s']:.0f} s ago"
    offline = node["state"] == "offline"
    return [
        _item(
            "error" if offline else "warning",
            f"Node {node['name']} is {node['state']}",
            f"{age}; offline after {node['rule']['offline_after_s']:.0f} s. What it serves is not "
            "touched by this alone.",
            f"/nodes/{node['name']}",
        )
    ]


def _endpoint_attention(endpoint: Shown) -> list[Shown]:
    link = f"/endpoints/{endpoint['name']}"
    found = []
    if endpoint["serving_state"] == ServingState.UNAVAILABLE:
        found.append(_item("error", f"{endpoint['name']} does not answer", "", link))
    elif endpoint["serving_state"] == ServingState.DEGRADED:
        found.append(_item("warning", f"{endpoint['name']} is degraded", "", link))
    for deployment in endpoint["deployments"]:
        name = f"{endpoint['name']}/{deployment['name']}"
        error = deployment["error"] or {}
        if deployment["provisioning_state"] == DeploymentState.FAILED:
            found.append(_item("error", f"{name} failed", error.get("message", ""), link))
        elif error:
            found.append(_item("warning", f"{name} needs help", error.get("message", ""), link))
    return found


def _item(severity: str, title: str, detail: str, link: str) -> Shown:
    return {"severity": severity, "title": title, "detail": detail, "link": link}


def events_recent(*, people: bool) -> list[Event]:
    return list(events_shown(people=people).order_by("-seq")[:RECENT])


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Empty fields let everything through, but for what is about ``people``."""

    people: bool
    subject: str = ""
    kind: str = ""
    actor: str = ""
    severity: frozenset[str] = frozenset()
    q: str = ""
    verb: str = ""  # or what it begins with
    since: datetime | None = None
    until: datetime | None = None  # not included

    def rows(self) -> QuerySet[Event]:
        rows = events_shown(people=self.people)
        if self.since is not None:
            rows = rows.filter(at__gte=self.since)
        if self.until is not None:
            rows = rows.filter(at__lt=self.until)
        if self.subject:
            rows = rows.filter(subject=self.subject)
        if self.kind:
            rows = rows.filter(Q(subject=self.kind) | Q(subject__startswith=f"{self.kind}/"))
        if self.actor:
            rows = rows.filter(actor=self.actor)
        if self.verb:
            rows = rows.filter(verb__startswith=self.verb)
        if self.severity:
            rows = rows.filter(severity__in=self.severity)
        if self.q:
            words = Q(message__icontains=self.q) | Q(verb__icontains=self.q)
            rows = rows.filter(words | Q(subject__icontains=self.q))
        return rows


def events_list(
    wanted: EventFilter, *, after_seq: int | None, before_seq: int | None, limit: int
) -> list[Event]:
    """Behind ``after_seq`` in order; without it the latest, or those before ``before_seq``,
    newest first."""
    rows = wanted.rows()
    if after_seq is not None:
        return list(rows.filter(seq__gt=after_seq).order_by("seq")[:limit])
    if before_seq is not None:
        rows = rows.filter(seq__lt=before_seq)
    return list(rows.order_by("-seq")[:limit])


def operation_ended(operation: Operation) -> bool:
    return operation.state not in (OperationState.QUEUED, OperationState.RUNNING)


def operation_state(operation_id: str) -> tuple[Any, ...] | None:
    """State alone, the cheapest look at an operation; None when there is none."""
    return Operation.objects.filter(pk=operation_id).values_list("state").first()
