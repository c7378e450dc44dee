"""The whole installation at a glance, and what in it wants attention."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from controlplane.accounts.selectors import events_shown
from controlplane.core.events import LOOKS
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.selectors.glance import EndpointGlance, endpoints_glance
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
from controlplane.operations.models import Operation
from controlplane.operations.selectors import operation_list, operation_shown
from controlplane.operations.types import STUCK, StageStatus
from controlplane.registry.models import Model

RECENT: Final = 7
# Of the overview, which travels every two seconds; lists have pages of their own.
MOST_ATTENTION: Final = 12
MOST_ENDPOINTS: Final = 15
MOST_NODES: Final = 40
MOST_CARDS: Final = 64  # GPUs of the nodes that are shown
LONGEST_DETAIL: Final = 300  # characters
D = DeploymentState
_REPLICA: Final = [field.name for field in Replica._meta.concrete_fields]  # all of its columns


def nodes_shown(nodes: list[Node], now: datetime) -> list[Shown]:
    """Nodes with the replicas that run, or are being stopped, on them."""
    rows: dict[str, list[Shown]] = {node.id: [] for node in nodes}
    by_id = {node.id: node for node in nodes}
    replicas = (
        Replica.objects.filter(node__in=nodes)
        .exclude(desired=Desired.STOPPED, state__in=[ReplicaState.STOPPED, ReplicaState.FAILED])
        .select_related("deployment__endpoint")
        .only(*_REPLICA, "deployment__name", "deployment__endpoint__name")
        .order_by("deployment__endpoint__name", "deployment__name", "ordinal")
    )
    for replica in replicas:
        deployment, replica.node = replica.deployment, by_id[replica.node_id]
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
        "drain": _drain(node),
        "info": node.info,
        "last_seen_at": node.last_seen_at,
        "certificate_ends_at": node.certificate_ends_at if node.certified_at else None,
        "age_s": node_age_s(node, now),
        "replicas": replicas,
    }


def _drain(node: Node) -> Shown | None:
    if node.drain_started_at is None:
        return None
    return {
        "started_at": node.drain_started_at,
        "deadline_at": node.drain_deadline_at,
        "done": node.drain_deadline_at is None,
    }


def overview(now: datetime, *, people: bool) -> Shown:
    """Counts and totals of everything, and of each list the few rows that matter most.

    However large the installation is, this stays small: it is sent every two seconds.
    """
    endpoints = endpoints_glance()
    nodes = [(node, node_state(node, now)) for node in node_list()]
    live = live_now([endpoint.name for endpoint in endpoints], now.timestamp())
    found = attention(endpoints, nodes, now)
    deployments = [row for endpoint in endpoints for row in endpoint.deployments]
    return {
        "counts": {
            "endpoints": len(endpoints),
            "models": Model.objects.filter(archived=False).count(),
            "nodes": len(nodes),
            "nodes_online": sum(state == "online" for _, state in nodes),
            "replicas_ready": sum(row["replicas_ready"] for row in deployments),
            "replicas_total": sum(
                row["instance_count"]
                for row in deployments
                if row["provisioning_state"] not in (D.FAILED, D.CANCELED)
            ),
            "attention": len(found),
        },
        "totals": {**traffic_totals(live), **machine_totals(nodes)},
        "attention": found[:MOST_ATTENTION],
        "endpoints": _endpoints_first(endpoints, live),
        "nodes": _nodes_first(nodes),
        "recent_operations": [_operation(row) for row in operation_list()[:RECENT]],
        "recent_events": events_recent(people=people),
    }


def counts_shown() -> Shown:
    """How many there are of what the studio names on every page: three counts, no rows."""
    return {
        "endpoints": Endpoint.objects.count(),
        "models": Model.objects.filter(archived=False).count(),
        "nodes": Node.objects.count(),
    }


def traffic_totals(live: Mapping[str, Mapping[str, float | None]]) -> Shown:
    """Answers of gateways add up, and weigh the errors; of the latencies the worst counts, since
    quantiles do not add. None where nothing is known."""
    known = [row["answer_rate"] for row in live.values() if row["answer_rate"] is not None]
    answered = sum(known)
    failed = sum((row["error_rate"] or 0.0) * (row["answer_rate"] or 0.0) for row in live.values())
    p95s = [(row["p95_us"], name) for name, row in live.items() if row["p95_us"] is not None]
    slowest = max(p95s, key=lambda each: each[0] or 0.0, default=None)
    return {
        "answer_rate": answered if known else None,
        "error_rate": failed / answered if answered else None,
        "slowest": slowest and {"endpoint": slowest[1], "p95_us": slowest[0]},
    }


def machine_totals(nodes: Sequence[tuple[Node, str]]) -> Shown:
    """Of nodes that are online, but for the GPUs: what they have counts while they are silent."""
    infos = [(node.name, node.info) for node, state in nodes if state == "online"]
    gpus = [gpu for _, info in infos for gpu in info.get("gpus", [])]
    told = [gpu.get("utilization", 0.0) for gpu in gpus]
    if not told:
        told = [info.get("cpu_utilization", 0.0) for _, info in infos]
    busy = [float(share) for share in told if share is not None]
    disks = [
        (int(info.get("disk_free_bytes", 0)) / info["disk_total_bytes"], name, info)
        for name, info in infos
        if info.get("disk_total_bytes")
    ]
    fullest = min(disks, key=lambda each: each[:2], default=None)
    every = [gpu for node, _ in nodes for gpu in node.info.get("gpus", [])]
    return {
        "utilization": sum(busy) / len(busy) if busy else None,
        "gpus_online": len(gpus),
        "gpus": len(every),
        "gpu_name": every[0]["name"] if every else "",
        "gpu_memory_bytes": sum(int(gpu["memory_total_bytes"]) for gpu in every),
        "least_disk": fullest
        and {
            "node": fullest[1],
            "free_bytes": int(fullest[2].get("disk_free_bytes", 0)),
            "total_bytes": int(fullest[2]["disk_total_bytes"]),
        },
    }


def _endpoints_first(
    endpoints: Sequence[EndpointGlance], live: Mapping[str, Mapping[str, float | None]]
) -> list[Shown]:
    """By name; of many those that do not answer as they should, then the busiest."""
    trouble = (ServingState.UNAVAILABLE, ServingState.DEGRADED)

    def worth(row: EndpointGlance) -> tuple[bool, float, str]:
        rate = live[row.name]["answer_rate"]
        return (row.serving_state not in trouble, -(rate or 0.0), row.name)

    chosen = sorted(sorted(endpoints, key=worth)[:MOST_ENDPOINTS], key=lambda row: row.name)
    models: dict[str, list[Shown]] = {row.name: [] for row in chosen}
    deployed = Deployment.objects.filter(endpoint__name__in=models).order_by("created_at", "id")
    for name, model, version in deployed.values_list(
        "endpoint__name",
        "revision__model_version__model__name",
        "revision__model_version__version",
    ):
        models[name].append({"name": model, "version": version})
    return [
        {
            "name": row.name,
            "serving_state": row.serving_state,
            "traffic": row.traffic,
            "models": models[row.name],
            "live": live[row.name],
        }
        for row in chosen
    ]


def _nodes_first(nodes: Sequence[tuple[Node, str]]) -> list[Shown]:
    """By name; of many those that are not online, then those whose memory is the fullest."""

    def fullness(info: Shown) -> float:
        parts = info.get("gpus") or [info]
        total = sum(int(part.get("memory_total_bytes", 0)) for part in parts)
        return sum(int(part.get("memory_used_bytes", 0)) for part in parts) / (total or 1)

    worst = sorted(
        nodes, key=lambda each: (each[1] == "online", -fullness(each[0].info), each[0].name)
    )
    chosen: list[tuple[Node, str]] = []
    cards = 0
    for node, state in worst[:MOST_NODES]:
        cards += len(node.info.get("gpus", []))
        if chosen and cards > MOST_CARDS:
            break
        chosen.append((node, state))
    return [_node_glance(node, state) for node, state in sorted(chosen, key=lambda it: it[0].name)]


def _node_glance(node: Node, state: str) -> Shown:
    return {
        "id": node.id,
        "name": node.name,
        "state": state,
        "cordoned": node.cordoned,
        "drain": _drain(node),
        "info": node.info,
    }


def _operation(operation: Operation) -> Shown:
    shown = operation_shown(operation)
    under_way = (StageStatus.RUNNING, StageStatus.FAILED)
    current = (stage["title"] for stage in shown["stages"] if stage["status"] in under_way)
    return shown | {"stage": next(current, "")}


def attention(
    endpoints: Iterable[EndpointGlance], nodes: Iterable[tuple[Node, str]], now: datetime
) -> list[Shown]:
    """What somebody should look at, the worst first."""
    found = [item for node, state in nodes for item in _node_attention(node, state, now)]
    for endpoint in endpoints:
        found += _endpoint_attention(endpoint)
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda item: order[item["severity"]])


def _node_attention(node: Node, state: str, now: datetime) -> list[Shown]:
    if state == "online":
        return [
            _item("warning", f"Node {node.name}: {it.code}", it.message, f"/nodes/{node.name}")
            for it in node_conditions(node, now)
            if it.code != "VersionSkew"  # as long as an upgrade lasts; the node's page says so
        ]
    age_s = node_age_s(node, now)
    age = "never reported" if age_s is None else f"last report {age_s:.0f} s ago"
    return [
        _item(
            "error" if state == "offline" else "warning",
            f"Node {node.name} is {state}",
            f"{age}; offline after {liveness_of(node).offline_after_s:.0f} s. What it serves is "
            "not touched by this alone.",
            f"/nodes/{node.name}",
        )
    ]


def _endpoint_attention(endpoint: EndpointGlance) -> list[Shown]:
    link = f"/endpoints/{endpoint.name}"
    found = []
    if endpoint.serving_state == ServingState.UNAVAILABLE:
        found.append(_item("error", f"{endpoint.name} does not answer", "", link))
    elif endpoint.serving_state == ServingState.DEGRADED:
        found.append(_item("warning", f"{endpoint.name} is degraded", "", link))
    for deployment in endpoint.deployments:
        name = f"{endpoint.name}/{deployment['name']}"
        error = deployment["error"] or {}
        if deployment["provisioning_state"] == D.FAILED:
            found.append(_item("error", f"{name} failed", error.get("message", ""), link))
        elif error:
            found.append(_item("warning", f"{name} needs help", error.get("message", ""), link))
        if deployment["blocked_by"] in STUCK:
            title = f"{name} is not autoscaled as it should be"
            found.append(_item("warning", title, deployment["blocked"] or "", link))
    return found


def _item(severity: str, title: str, detail: str, link: str) -> Shown:
    if len(detail) > LONGEST_DETAIL:
        detail = f"{detail[: LONGEST_DETAIL - 1]}…"  # all of it is behind the link
    return {"severity": severity, "title": title, "detail": detail, "link": link}


def events_recent(*, people: bool) -> list[Event]:
    rows = events_shown(people=people).exclude(verb__in=LOOKS)
    return list(rows.order_by("-seq")[:RECENT])
