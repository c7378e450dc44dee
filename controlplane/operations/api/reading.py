"""What the views share: answers, and what the caller has seen."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import Permission
from controlplane.core.etags import IF_MATCH, LastChange, if_match_check
from controlplane.core.models import Event
from controlplane.core.requests import flag
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import deployment_get, endpoint_get
from controlplane.deployments.selectors.shown import deployment_shown
from controlplane.deployments.serializers.endpoints import DeploymentSerializer, EndpointSerializer
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.operations.errors import AsItIs
from controlplane.operations.models import Operation
from controlplane.operations.selectors import endpoints_shown, latest_operations, operation_shown
from controlplane.operations.serializers import OperationSerializer
from controlplane.operations.services.autoscaling import ACTOR as AUTOSCALER
from controlplane.operations.services.completion import operations_supersede
from controlplane.operations.services.deployments import deployment_confirm
from controlplane.operations.services.operations import PLACE as OPERATIONS
from controlplane.operations.types import GoldenGate
from controlplane.registry.services.approvals import variables_check

ViewT = TypeVar("ViewT", bound=Callable[..., Any])

IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="`*`: only make it; 412 `PreconditionFailed` when it exists",
)
SUPERSEDE = OpenApiParameter(
    "supersede",
    bool,
    description="cancel what is under way there instead of 409 `OperationInProgress`; a deletion "
    "is not cancelled, and if this change is refused, nothing is",
)
SKIP_GOLDEN = OpenApiParameter(
    "skip_golden",
    bool,
    description="let it answer requests without asking its golden cases first, which is recorded",
)
FORCE = OpenApiParameter("force", bool, description="even if it carries traffic")


def golden_gate(request: Request) -> GoldenGate:
    return GoldenGate.SKIP if flag(request, "skip_golden") else GoldenGate.ASK


def endpoint_body(endpoint: Endpoint) -> Any:
    return EndpointSerializer(endpoints_shown([endpoint])[0]).data


def operation_body(operation: Operation) -> Any:
    return OperationSerializer(operation_shown(operation)).data


def accepted(operation: Operation) -> Response:
    """202, and where to watch."""
    return Response(
        operation_body(operation),
        status=status.HTTP_202_ACCEPTED,
        headers=watching(operation),
    )


def watching(operation: Operation) -> dict[str, str]:
    """Headers that say where to watch: in our words and in Azure's."""
    place = f"{OPERATIONS}{operation.id}"
    return {"Operation-Location": place, "Azure-AsyncOperation": place, "Retry-After": "1"}


# What moves the tag of an endpoint, as the log of events calls it.
ENDPOINT_CHANGES = (
    "endpoint.created", "endpoint.updated", "endpoint.traffic_changed", "endpoint.mirror_changed",
    "endpoint.auth_mode_changed", "endpoint.limits_changed", "endpoint.rules_changed",
    "objective.set", "objective.deleted",
)  # fmt: skip
# The same of a deployment; one that does not come up goes back to what it ran before.
DEPLOYMENT_CHANGES = (
    "deployment.updated", "operation.started", "operation.failed", "operation.canceled",
)  # fmt: skip


def endpoint_etag(body: Any) -> str:
    return str(body["etag"])


def endpoint_last_change(name: str) -> LastChange | None:
    rows = Event.objects.filter(subject=f"endpoint/{name}", verb__in=ENDPOINT_CHANGES)
    row = rows.order_by("-seq").first()
    return LastChange(row.actor, row.at, row.message) if row else None


def deployment_etag(body: Any) -> str:
    return str(body["etag"])


def deployment_last_change(endpoint: str, name: str) -> LastChange | None:
    rows = Event.objects.filter(
        subject=f"endpoint/{endpoint}", verb__in=DEPLOYMENT_CHANGES, data__deployment=name
    )
    # why without the autoscaler: what it changes moves no tag
    row = rows.exclude(actor=AUTOSCALER).order_by("-seq").first()
    return LastChange(row.actor, row.at, row.message) if row else None


def endpoint_seen(name: str) -> tuple[str, Any]:
    """Its tag and how it is shown now."""
    body = endpoint_body(endpoint_get(name))
    return endpoint_etag(body), body


def deployment_seen(endpoint: str, name: str) -> tuple[str, Any]:
    row = deployment_get(endpoint, name)
    body = DeploymentSerializer(
        deployment_shown(row, row.endpoint, latest_operations([endpoint]))
    ).data
    return deployment_etag(body), body


@contextmanager
def endpoint_change(
    request: Request, name: str, *, in_the_way: Collection[str | None] = (None,)
) -> Iterator[None]:
    """What is done inside happens to the endpoint that the caller has seen, or not at all; with
    ``?supersede=true`` instead of what is about to move its traffic.

    ``in_the_way``: deployments whose operations are meant; None means all.
    """
    last = partial(endpoint_last_change, name)
    with _change(request, name, lambda: endpoint_seen(name), last):
        for deployment in in_the_way if flag(request, "supersede") else ():
            operations_supersede(
                endpoint=name,
                deployment=deployment,
                actor=actor(request),
                now=timezone.now(),
                moving_traffic=True,
            )
        yield


@contextmanager
def deployment_change(request: Request, endpoint: str, name: str) -> Iterator[bool]:
    """The same for a deployment, and what is under way there: whether that was ended."""
    last = partial(deployment_last_change, endpoint, name)
    with _change(request, endpoint, lambda: deployment_seen(endpoint, name), last):
        yield superseded(request, endpoint, name)


def superseded(request: Request, endpoint: str, deployment: str | None) -> bool:
    """With ``?supersede=true`` ends what is under way there, in the caller's transaction."""
    if not flag(request, "supersede"):
        return False
    ended = operations_supersede(
        endpoint=endpoint, deployment=deployment, actor=actor(request), now=timezone.now()
    )
    return ended > 0


@contextmanager
def _change(
    request: Request,
    endpoint: str,
    current: Callable[[], tuple[str, Any]],
    changed: Callable[[], LastChange | None],
) -> Iterator[None]:
    with ExitStack() as stack:
        if "If-Match" in request.headers or flag(request, "supersede"):
            stack.enter_context(transaction.atomic())
            endpoint_lock(endpoint)
        if "If-Match" in request.headers:
            if_match_check(request, *current(), changed=changed)
        yield


def operate(
    request: Request,
    endpoint: str,
    deployment: str,
    service: Callable[..., Operation],
    **values: Any,
) -> Response:
    """Let ``service`` change the deployment that the caller has seen: 202 with its operation.

    Who supersedes a change to go back to what ran before gets an operation as well: it ends once
    that serves.
    """
    told: dict[str, Any] = {
        "endpoint": endpoint,
        "name": deployment,
        "actor": actor(request),
        "now": timezone.now(),
    }
    with deployment_change(request, endpoint, deployment) as ended:
        try:
            operation = service(**told, **values)
        except AsItIs:
            if not ended:
                raise
            operation = deployment_confirm(**told)
    return accepted(operation)


def operation_schema(
    name: str,
    *,
    body: type[serializers.Serializer[Any]] | None = None,
    parameters: Sequence[OpenApiParameter] = (),
    conflict: str = "`OperationInProgress` with the `operation`",
    **others: str,
) -> Callable[[ViewT], ViewT]:
    """How a change that takes a while is described; ``others`` is more: ``not_found="..."``."""
    responses: dict[int, Any] = {
        202: OperationSerializer,
        409: OpenApiResponse(description=conflict),
    }
    if "not_found" in others:
        responses[404] = OpenApiResponse(description=others["not_found"])
    return extend_schema(
        operation_id=name,
        request=body,
        parameters=[IF_MATCH, SUPERSEDE, *parameters],
        responses=responses,
    )


def variables_read(
    values: Mapping[str, Any], request: Request, *, kept: Mapping[str, str] | None = None
) -> None:
    """Refuse variables by which somebody who may bring no code would. Raises CodeNotAllowed.

    ``kept``: what the deployment has already; saying that again brings nothing.
    """
    given = values.get("environment") or {}
    fresh = {name: value for name, value in given.items() if (kept or {}).get(name) != value}
    fresh |= values.get("secret_environment") or {}
    variables_check(fresh, may_run_code=may(request, Permission.CODE))
