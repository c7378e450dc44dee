"""Finding endpoints, deployments and operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, Q, QuerySet

from controlplane.core.filters import tagged
from controlplane.deployments.errors import (
    DeploymentNotFound,
    EndpointNotFound,
    OperationNotFound,
)
from controlplane.deployments.models import (
    Deployment,
    DeploymentRevision,
    Endpoint,
    Operation,
    Replica,
)
from controlplane.deployments.types import ACTIVE


def endpoint_list() -> QuerySet[Endpoint]:
    """With all that showing them needs, in a fixed number of queries."""
    replicas = Replica.objects.select_related("node").order_by("ordinal", "created_at")
    deployments = (
        Deployment.objects.select_related(
            "model_version__model", "config_revision", "revision", "instance_type"
        )
        .prefetch_related(Prefetch("replicas", replicas), "model_version__repo_models")
        .order_by("created_at", "id")
    )
    return Endpoint.objects.order_by("name").prefetch_related(Prefetch("deployments", deployments))


def endpoint_get(name: str) -> Endpoint:
    """Raises EndpointNotFound."""
    endpoint = endpoint_list().filter(name=name).first()
    if endpoint is None:
        raise EndpointNotFound(f"There is no endpoint called {name}.")
    return endpoint


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


def operation_list(endpoint: str = "") -> QuerySet[Operation]:
    """Those of ``endpoint``; an empty text stands for all."""
    return Operation.objects.filter(endpoint=endpoint) if endpoint else Operation.objects.all()


def endpoints_matching(
    *,
    q: str = "",
    states: Sequence[str] = (),
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    tags: Mapping[str, str] | None = None,
) -> QuerySet[Endpoint]:
    """As ``endpoint_list``; what is empty lets everything through."""
    wanted = {
        "name__icontains": q,
        "provisioning_state__in": states,
        "created_at__gt": created_after,
        "created_at__lt": created_before,
    }
    rows = endpoint_list().filter(**{name: value for name, value in wanted.items() if value})
    return tagged(rows, tags or {})


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Empty fields let everything through."""

    endpoint: str = ""
    state: Sequence[str] = ()
    kind: Sequence[str] = ()
    actor: str = ""
    q: str = ""  # in the name of the endpoint or the deployment
    since: datetime | None = None
    until: datetime | None = None  # not included

    def rows(self) -> QuerySet[Operation]:
        wanted = {
            "state__in": self.state,
            "kind__in": self.kind,
            "created_by": self.actor,
            "created_at__gte": self.since,
            "created_at__lt": self.until,
        }
        rows = operation_list(self.endpoint).filter(
            **{name: value for name, value in wanted.items() if value}
        )
        if self.q:
            rows = rows.filter(Q(endpoint__icontains=self.q) | Q(deployment__icontains=self.q))
        return rows


def operation_get(operation_id: str) -> Operation:
    """Raises OperationNotFound."""
    operation = Operation.objects.filter(pk=operation_id).first()
    if operation is None:
        raise OperationNotFound(f"There is no operation {operation_id}.")
    return operation


def operations_active(endpoint: str = "", deployment: str | None = None) -> QuerySet[Operation]:
    """Those that have not ended, oldest first."""
    rows = operation_list(endpoint).filter(state__in=ACTIVE)
    if deployment is not None:
        rows = rows.filter(deployment=deployment)
    return rows.order_by("created_at")
