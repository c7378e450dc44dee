"""The whole installation at a glance, and what in it wants attention."""

from dataclasses import asdict
from datetime import datetime

from controlplane.accounts.selectors import events_shown
from controlplane.core.models import Event
from controlplane.deployments.models import Replica
from controlplane.deployments.selectors import endpoint_list
from controlplane.deployments.selectors.shown import Shown, replica_shown
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState, ServingState
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
from controlplane.operations.selectors import endpoints_shown, operation_list, operation_shown
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
