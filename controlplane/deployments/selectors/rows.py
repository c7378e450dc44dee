"""Finding endpoints, deployments and their revisions."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from controlplane.accounts.scope import scope_now
from controlplane.core.errors import Forbidden
from controlplane.core.tags import tagged
from controlplane.deployments.errors import DeploymentNotFound, EndpointNotFound
from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint, Replica
from controlplane.deployments.selectors.glance import endpoints_glance
from controlplane.metrics.types import Scope
from controlplane.registry.models import RepoModel

VERSION: Final = "revision__model_version"  # of a deployment


def endpoint_list() -> QuerySet[Endpoint]:
    """With all that showing them needs, in a fixed number of queries.

    What is long and not shown stays where it is: what nodes report, graphs and configurations.
    """
    replicas = _replicas().defer("node__info", "node__labels")
    models = RepoModel.objects.only("name", "model_version")
    deployments = _deployments().defer(
        "revision__config_revision__configs",
        "revision__config_revision__code",
        "revision__model_version__code",
        "revision__model_version__warnings",
    )
    rows = _endpoints(deployments, replicas, Prefetch(f"{VERSION}__repo_models", models))
    return rows.prefetch_related("objectives")


def _replicas() -> QuerySet[Replica]:
    return Replica.objects.select_related("node").order_by("ordinal", "created_at")


def _deployments() -> QuerySet[Deployment]:
    return Deployment.objects.select_related(
        "autoscaler", f"{VERSION}__model", "revision__config_revision", "revision__instance_type"
    ).order_by("created_at", "id")


def _endpoints(
    deployments: QuerySet[Deployment], replicas: QuerySet[Replica], models: "Prefetch[Any] | str"
) -> QuerySet[Endpoint]:
    rows = deployments.prefetch_related(Prefetch("replicas", replicas), models)
    endpoints = Endpoint.objects.order_by("name").select_related("traffic_change")
    return endpoints.prefetch_related(Prefetch("deployments", rows))


def endpoint_get(name: str) -> Endpoint:
    """All of it. Raises EndpointNotFound."""
    rows = _endpoints(_deployments(), _replicas(), f"{VERSION}__repo_models")
    endpoint = rows.filter(name=name).first()
    if endpoint is None:
        raise EndpointNotFound(f"There is no endpoint called {name}.")
    return endpoint


def told_since(endpoint: Endpoint) -> float:
    """Unix seconds: what was measured or written before, the caller is not told.

    Series and log lines are kept by name, and another project may have had an endpoint of this one.
    """
    return 0.0 if scope_now() is None else endpoint.created_at.timestamp()


def scopes_told_since(scopes: Iterable[Scope]) -> dict[Scope, float]:
    """The same of series of any kind; nothing for who may read all of them. Raises
    EndpointNotFound for what is not in the caller's projects, and Forbidden."""
    if scope_now() is None:
        return {}
    names = {}
    for scope in scopes:
        if scope.kind not in ("endpoint", "deployment"):
            raise Forbidden(
                f"by={scope.kind}: nodes, and models by the name that they are served under, are "
                "of all projects; expected endpoint or deployment.",
                hints=("For the installation's figures one needs a role there.",),
                field="by",
            )
        names[scope] = scope.name
    known = {row.name: row for row in Endpoint.objects.filter(name__in=set(names.values()))}
    for name in names.values():
        if name not in known:
            raise EndpointNotFound(f"There is no endpoint called {name}.")
    return {scope: told_since(known[name]) for scope, name in names.items()}


def deployment_get(endpoint: str, name: str) -> Deployment:
    """Raises EndpointNotFound, DeploymentNotFound."""
    for deployment in endpoint_get(endpoint).deployments.all():
        if deployment.name == name:
            return deployment
    raise DeploymentNotFound(f"Endpoint {endpoint} has no deployment called {name}.")


def revision_list(endpoint: str, name: str) -> list[DeploymentRevision]:
    """The newest first, each with ``current``. Raises EndpointNotFound, DeploymentNotFound."""
    row = deployment_get(endpoint, name)
    found = list(
        row.revisions.select_related(
            "model_version__model", "config_revision", "instance_type"
        ).order_by("-number")
    )
    for revision in found:
        revision.current = revision.pk == row.revision_id
    return found


def nodes_running(endpoint: str) -> list[str]:
    """Ids of the nodes that have replicas of this endpoint."""
    rows = Replica.objects.filter(deployment__endpoint__name=endpoint)
    return list(rows.values_list("node_id", flat=True).distinct())


def endpoints_matching(
    *,
    q: str = "",
    project: str = "",
    states: Sequence[str] = (),
    serving_states: Sequence[str] = (),
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    tags: Mapping[str, str] | None = None,
) -> QuerySet[Endpoint]:
    """As ``endpoint_list``; what is empty lets everything through. ``q``: in its name, its words,
    or the name of a model that it serves."""
    wanted = {
        "project": project,
        "provisioning_state__in": states,
        "created_at__gt": created_after,
        "created_at__lt": created_before,
    }
    rows = endpoint_list().filter(**{name: value for name, value in wanted.items() if value})
    if q:
        serves = Deployment.objects.filter(
            endpoint=OuterRef("pk"), revision__model_version__model__name__icontains=q
        )
        rows = rows.filter(Q(name__icontains=q) | Q(description__icontains=q) | Exists(serves))
    if serving_states:  # derived, never stored
        found = [row.name for row in endpoints_glance() if row.serving_state in serving_states]
        rows = rows.filter(name__in=found)
    return tagged(rows, tags or {})
