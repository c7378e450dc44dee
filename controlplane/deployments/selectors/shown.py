"""Rows as the API shows them: both axes of state, addresses, and what is derived."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from controlplane.deployments.models import Deployment, Endpoint, Replica, TrafficChange
from controlplane.deployments.serving import (
    DEPLOYMENT_RULES,
    ENDPOINT_RULES,
    DeploymentFacts,
    EndpointFacts,
    serving,
)
from controlplane.deployments.spec import DESCRIPTIVE, ROUTED, settings_to_json
from controlplane.deployments.traffic_watch import (
    WATCHED,
    moved,
    shares_of,
    state_of,
    way_back,
)
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState, ServingState

Shown = dict[str, Any]
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
CA_FILE: Final = "shoal-ca.pem"


def endpoint_shown(endpoint: Endpoint, operations: dict[tuple[str, str], str]) -> Shown:
    """``endpoint`` from ``rows.endpoint_list``; ``operations``: (endpoint, deployment) -> id of its
    latest operation."""
    deployments = [
        deployment_shown(deployment, endpoint, operations)
        for deployment in endpoint.deployments.all()
    ]
    return {
        "name": endpoint.name,
        "project": endpoint.project_id,
        "description": endpoint.description,
        "tags": endpoint.tags,
        "auth_mode": endpoint.auth_mode,
        "cors_origins": endpoint.cors_origins,
        "max_request_bytes": endpoint.max_request_bytes,
        "rate_limit": endpoint.rate_limit,
        "sticky": endpoint.sticky,
        "objectives": sorted(endpoint.objectives.all(), key=lambda row: row.name),
        "declared": endpoint.declared,
        "provisioning_state": endpoint.provisioning_state,
        "serving_state": endpoint_serving(deployments),
        "traffic": endpoint.traffic,
        "mirror_traffic": endpoint.mirror_traffic,
        "traffic_rules": endpoint.traffic_rules,
        "traffic_change": traffic_change_shown(endpoint, timezone.now()),
        **addresses(endpoint.name),
        "routed": is_routed(endpoint),
        "unconfirmed": endpoint.unconfirmed,
        "left_out": [
            {name: part[name] for name in ("gateway", "deployment", "address", "reason")}
            for part in endpoint.left_out
        ],
        "models": [_deployed_model(deployment) for deployment in endpoint.deployments.all()],
        "created_by": endpoint.created_by,
        "created_at": endpoint.created_at,
        "updated_at": endpoint.updated_at,
        "deployments": deployments,
    }


def traffic_change_shown(endpoint: Endpoint, now: datetime) -> Shown | None:
    """The last change of its traffic, as long as it is told of."""
    row: TrafficChange | None = getattr(endpoint, "traffic_change", None)
    if row is None:
        return None
    current = shares_of(endpoint)
    state = state_of(
        changed_at=row.changed_at, routed_at=row.routed_at, undone_at=row.undone_at, now=now
    )
    # why looked at: an operation that fails puts the traffic back without a change of its own
    if state is None or moved(row.before if row.undone_at else row.after, current):
        return None
    names = [deployment.name for deployment in endpoint.deployments.all()]
    return {
        "state": state,
        "before": row.before,
        "after": row.after,
        "actor": row.actor,
        "changed_at": row.changed_at,
        "routed_at": row.routed_at,
        "watched_until": row.routed_at + WATCHED if row.routed_at else None,
        "undone_by": row.undone_by,
        "undone_at": row.undone_at,
        "undo": None if row.undone_at else way_back(row.before, row.after, current, names),
    }


def is_routed(endpoint: Endpoint) -> bool:
    """Whether every gateway acts on the newest traffic, keys and settings, silent ones as well."""
    return endpoint.confirmed_generation >= endpoint.generation and not endpoint.unconfirmed


def addresses(endpoint: str) -> Shown:
    """Where clients reach an endpoint; the trailing slash is part of the promise."""
    tls = settings.SHOAL_GATEWAY_URL
    return {
        "scoring_uri": f"{tls}/endpoints/{endpoint}/",
        "openapi_uri": f"{settings.SHOAL_PUBLIC_URL}/api/v1/endpoints/{endpoint}/openapi.json",
        "plain_uri": f"{settings.SHOAL_GATEWAY_PLAIN_URL}/endpoints/{endpoint}/",
        "grpc_target": tls.partition("://")[2],
        "ca_path": _ca_path(),
    }


def _ca_path() -> str:
    """The file of whom clients should trust; empty: whom their machine trusts.

    It is here where clients are on this machine; elsewhere they make one of that name by
    ``shoal gateway ca``. It was never written where all gateways show an operator's certificate.
    """
    file = settings.SHOAL_TLS_DIR / "ca.pem"
    if not file.is_file():
        return ""
    return str(file) if urlsplit(settings.SHOAL_GATEWAY_URL).hostname in LOOPBACK else CA_FILE


def _deployed_model(deployment: Deployment) -> Shown:
    version = deployment.revision.model_version
    return {
        "name": version.model.name,
        "version": version.version,
        "repo_models": sorted(model.name for model in version.repo_models.all()),
    }


def deployment_shown(
    deployment: Deployment, endpoint: Endpoint, operations: dict[tuple[str, str], str]
) -> Shown:
    replicas = list(deployment.replicas.all())
    revision = deployment.revision
    config, kind = revision.config_revision, revision.instance_type
    return {
        "name": deployment.name,
        "endpoint": endpoint.name,
        "project": endpoint.project_id,
        "model": revision.model_version.model.name,
        "version": revision.model_version.version,
        "config_revision": config.number if config else None,
        **{name: getattr(deployment, name) for name in (*DESCRIPTIVE, *ROUTED)},
        **settings_to_json(revision.settings),
        "instance_count": deployment.instance_count,
        "provisioning_state": deployment.provisioning_state,
        "serving_state": deployment_serving(
            deployment.provisioning_state,
            deployment.instance_count,
            replicas,
            wakes=deployment.idle_rule is not None,
        ),
        "traffic": endpoint.traffic.get(deployment.name, 0),
        "error": deployment.error,
        "secret_environment": sorted(revision.secrets),
        "revision": revision.number,
        "instance_type": kind.name if kind else None,
        "paused": deployment.paused,
        "replicas": [
            replica_shown(replica, endpoint.name, deployment.name) for replica in replicas
        ],
        "created_at": deployment.created_at,
        "updated_at": deployment.updated_at,
        "operation": operations.get((endpoint.name, deployment.name)),
        "autoscaling": autoscaling_shown(deployment),
    }


def autoscaling_shown(deployment: Deployment) -> Shown | None:
    row = getattr(deployment, "autoscaler", None)
    if deployment.autoscale is None or row is None or not row.decision:
        return None
    return {**row.decision, "decided_at": row.decided_at}


def replica_shown(replica: Replica, endpoint: str, deployment: str) -> Shown:
    observed = replica.observed
    started_at = observed.get("started_at")
    return {
        "id": replica.id,
        "ordinal": replica.ordinal,
        "node": replica.node.name,
        "endpoint": endpoint,
        "deployment": deployment,
        "state": replica.state,
        "generation": replica.generation,
        "gpus": replica.gpus,
        "restarts": observed.get("restarts", 0),
        "http_port": observed.get("http_port", 0),
        "grpc_port": observed.get("grpc_port", 0),
        "memory_bytes": observed.get("memory_bytes", 0),
        "downloaded_bytes": observed.get("downloaded_bytes", 0),
        "total_bytes": observed.get("total_bytes", 0),
        "started_at": datetime.fromtimestamp(started_at, UTC) if started_at else None,
        "load_seconds": observed.get("load_seconds") or None,
        "runtime_version": observed.get("runtime_version", ""),
        "error": replica.error,
        "last_report_at": replica.last_report_at,
    }


def deployment_serving(
    provisioning: str, instance_count: int, replicas: Iterable[Replica], *, wakes: bool
) -> ServingState:
    running = [replica for replica in replicas if replica.desired == Desired.RUNNING]
    ready = sum(replica.state == ReplicaState.READY for replica in running)
    state = DeploymentState(provisioning)
    facts = DeploymentFacts(state, instance_count, len(running), ready, wakes)
    return serving(DEPLOYMENT_RULES, facts)


def endpoint_serving(deployments: Iterable[Shown]) -> ServingState:
    """Of what gets traffic; without any, what the deployments are about to do."""
    rows = list(deployments)
    answering = [row["serving_state"] for row in rows if row["traffic"]]
    facts = EndpointFacts(answering, all=[row["serving_state"] for row in rows])
    return serving(ENDPOINT_RULES, facts)
