"""REST of deployments, and of ``/deploy``, which does it all in one call."""

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.etags import IF_MATCH, if_match_check, if_none_match_check
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.rehearsal import DRY_RUN, ONLY_ASKED, rehearsable
from controlplane.core.requests import flag, read_body, read_only, read_query
from controlplane.deployments import selectors
from controlplane.deployments.naming import endpoint_name_for
from controlplane.deployments.selectors.shown import deployment_shown
from controlplane.deployments.serializers.deployment_inputs import (
    DeploymentPatchSerializer,
    DeploymentPutSerializer,
)
from controlplane.deployments.serializers.endpoints import DeploymentSerializer, Fields
from controlplane.deployments.serializers.logs import LogLinesSerializer
from controlplane.deployments.services import Spec
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.metrics.log_levels import LEVELS
from controlplane.metrics.selectors import log_lines
from controlplane.operations import services
from controlplane.operations.api.reading import (
    FORCE,
    IF_NONE_MATCH,
    SKIP_GOLDEN,
    SUPERSEDE,
    accepted,
    deployment_change,
    deployment_last_change,
    deployment_seen,
    golden_gate,
    superseded,
    variables_read,
    watching,
)
from controlplane.operations.deployment_inputs import (
    DeploymentWithRolloutSerializer,
    DeployWithRolloutSerializer,
    rollout_read,
)
from controlplane.operations.selectors import latest_operations
from controlplane.operations.serializers import OperationSerializer

DeploymentPageSerializer = page_of(DeploymentSerializer)
# The share is the endpoint's; the rest is what became of it.
SHOWN_ONLY = read_only(DeploymentSerializer, DeploymentPutSerializer) - {"name", "endpoint"}


STREAMS = ["storage-initializer", "inference-server"]


class LogsQuery(Fields):
    tail = serializers.IntegerField(min_value=1, max_value=5000, default=200)
    replica = serializers.CharField(required=False, default="", allow_blank=True)
    stream = serializers.ChoiceField(
        STREAMS, required=False, default="", allow_blank=True, help_text="all, unless named"
    )
    container = serializers.ChoiceField(
        STREAMS, required=False, default="", allow_blank=True, help_text="Azure's word for `stream`"
    )
    since = serializers.DateTimeField(
        required=False, default=None, help_text="only lines written then or later"
    )
    until = serializers.DateTimeField(
        required=False, default=None, help_text="only lines written before"
    )
    q = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=500,
        trim_whitespace=False,
        help_text="only lines with this text, whatever the case of its letters",
    )
    level = serializers.ChoiceField(
        LEVELS,
        required=False,
        default="",
        allow_blank=True,
        help_text="only lines that say that they are as bad, or worse",
    )
    after = serializers.IntegerField(required=False, min_value=0, default=None)
    before = serializers.IntegerField(required=False, min_value=0, default=None)


def _in_the_way_ended(request: Request, endpoint: str, name: str, *, moves: bool) -> None:
    """What takes traffic changes the endpoint, so all that is under way there is in its way."""
    if moves:
        superseded(request, endpoint, None)
    elif name:
        superseded(request, endpoint, name)


class DeployView(ProjectAPIView):
    @extend_schema(
        operation_id="deploy",
        parameters=[SUPERSEDE, SKIP_GOLDEN],
        request=DeployWithRolloutSerializer,
        responses={
            202: OperationSerializer,
            409: OpenApiResponse(
                description="`OperationInProgress`, `RolloutInProgress`, `DeploymentHasTraffic`"
            ),
        },
    )
    def post(self, request: Request) -> Response:
        """From a registered model to an answering endpoint; asking twice is harmless."""
        values = read_body(DeployWithRolloutSerializer, request)
        moves = rollout_read(values, request)
        variables_read(values, request)
        endpoint, deployment = values.pop("endpoint"), values.pop("deployment")
        endpoint = endpoint or endpoint_name_for(values["model"])
        with transaction.atomic():
            endpoint_lock(endpoint)
            _in_the_way_ended(request, endpoint, deployment, moves=moves)
            operation = services.deploy(
                spec=Spec(**values),
                endpoint=endpoint,
                deployment=deployment,
                actor=actor(request),
                now=timezone.now(),
                golden=golden_gate(request),
            )
        return accepted(operation)


class DeploymentsView(ProjectAPIView):
    @extend_schema(
        operation_id="deployments_list",
        parameters=PAGE_PARAMETERS,
        responses=DeploymentPageSerializer,
    )
    def get(self, request: Request, endpoint: str) -> Response:
        query = read_query(PageQuery, request)
        row = selectors.endpoint_get(endpoint)
        rows = row.deployments.filter(name__icontains=query["q"])
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=["name"])
        operations = latest_operations([endpoint])
        shown = {
            deployment.name: deployment_shown(deployment, row, operations)
            for deployment in row.deployments.all()
        }
        body = {
            "items": [shown[deployment.name] for deployment in page.items],
            "next_cursor": page.next_cursor,
        }
        return Response(DeploymentPageSerializer(body).data)

    @extend_schema(
        operation_id="deployments_create",
        request=DeploymentWithRolloutSerializer,
        parameters=[SUPERSEDE, SKIP_GOLDEN, DRY_RUN],
        responses={
            **ONLY_ASKED,
            202: OperationSerializer,
            409: OpenApiResponse(
                description="`NameTaken`, `OperationInProgress` with the `operation`"
            ),
        },
    )
    @rehearsable
    def post(self, request: Request, endpoint: str) -> Response:
        """A further deployment; it gets no traffic unless ``traffic`` or ``rollout`` says so."""
        values = read_body(DeploymentWithRolloutSerializer, request)
        moves = rollout_read(values, request)
        variables_read(values, request)
        name, replace = values.pop("name"), values.pop("replace")
        with transaction.atomic():
            endpoint_lock(endpoint)
            _in_the_way_ended(request, endpoint, name, moves=moves)
            operation = services.deployment_create(
                endpoint=endpoint,
                name=name,
                replace=replace,
                spec=Spec(**values),
                actor=actor(request),
                now=timezone.now(),
                golden=golden_gate(request),
            )
        return accepted(operation)


class DeploymentView(ProjectAPIView):
    @extend_schema(operation_id="deployments_get", responses=DeploymentSerializer)
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        del request
        tag, body = deployment_seen(endpoint, deployment)
        return Response(body, headers={"ETag": tag})

    @extend_schema(
        operation_id="deployments_put",
        parameters=[IF_MATCH, IF_NONE_MATCH, SUPERSEDE, SKIP_GOLDEN, DRY_RUN],
        request=DeploymentPutSerializer,
        responses={
            **ONLY_ASKED,
            200: OpenApiResponse(DeploymentSerializer, description="nothing has to start anew"),
            201: OpenApiResponse(
                DeploymentSerializer, description="made; `Operation-Location` says how far it is"
            ),
            202: OpenApiResponse(OperationSerializer, description="it is being changed"),
            409: OpenApiResponse(description="`OperationInProgress` with the `operation`"),
        },
    )
    @rehearsable
    def put(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Let it be just this, whether it exists or not. What is left out goes to its default;
        its share of the traffic stays, and so do secrets that are not named. What it runs is
        changed without a gap; one that has failed is brought up afresh."""
        fixed = {"name": deployment, "endpoint": endpoint}
        values = read_body(DeploymentPutSerializer, request, ignored=SHOWN_ONLY, fixed=fixed)
        with transaction.atomic():
            row = endpoint_lock(endpoint)
            existing = row.deployments.filter(name=deployment).first() if row else None
            variables_read(
                values, request, kept=existing.revision.settings.environment if existing else None
            )
            tag, seen = deployment_seen(endpoint, deployment) if existing else (None, None)
            last = partial(deployment_last_change, endpoint, deployment)
            if_match_check(request, tag, seen, changed=last)
            if_none_match_check(request, tag)
            superseded(request, endpoint, deployment)
            done = services.deployment_put(
                endpoint=endpoint,
                name=deployment,
                spec=Spec(**values),
                actor=actor(request),
                now=timezone.now(),
                golden=golden_gate(request),
            )
        if done.operation is not None and not done.created:
            return accepted(done.operation)
        answer = self.get(request, endpoint, deployment)
        if done.operation is not None:
            answer.status_code = status.HTTP_201_CREATED
            for name, value in watching(done.operation).items():
                answer[name] = value
        return answer

    @extend_schema(
        operation_id="deployments_update",
        parameters=[IF_MATCH, SUPERSEDE, SKIP_GOLDEN, DRY_RUN],
        request=DeploymentPatchSerializer,
        responses={
            **ONLY_ASKED,
            200: OpenApiResponse(DeploymentSerializer, description="nothing has to start anew"),
            202: OpenApiResponse(OperationSerializer, description="it is being changed"),
            409: OpenApiResponse(description="`OperationInProgress` with the `operation`"),
        },
    )
    @rehearsable
    def patch(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Change what is named, all of it or, where any of it is refused, nothing. Words and
        request settings alone need not wait for another change; what it runs is changed
        without a gap."""
        fixed = {"name": deployment, "endpoint": endpoint}
        values = read_body(DeploymentPatchSerializer, request, ignored=SHOWN_ONLY, fixed=fixed)
        told: dict[str, Any] = {
            "endpoint": endpoint,
            "name": deployment,
            "actor": actor(request),
            "now": timezone.now(),
        }
        with deployment_change(request, endpoint, deployment) as ended:
            kept = selectors.deployment_get(endpoint, deployment).revision.settings.environment
            variables_read(values, request, kept=kept)
            operation = services.deployment_patch(**told, **values, golden=golden_gate(request))
            if operation is None and ended:
                # who went back to what ran before waits until that serves
                operation = services.deployment_confirm(**told)
        return accepted(operation) if operation else self.get(request, endpoint, deployment)

    @extend_schema(
        operation_id="deployments_delete",
        request=None,
        parameters=[FORCE],
        responses={
            202: OperationSerializer,
            409: OpenApiResponse(description="`DeploymentHasTraffic`"),
        },
    )
    def delete(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Legal in every state; what is under way there is cancelled first."""
        operation = services.deployment_delete(
            endpoint=endpoint,
            name=deployment,
            force=flag(request, "force"),
            actor=actor(request),
            now=timezone.now(),
        )
        return accepted(operation)


class LogsView(ProjectAPIView):
    @extend_schema(
        operation_id="deployments_logs", parameters=[LogsQuery], responses=LogLinesSerializer
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """The last lines, in order; with ``after`` those behind that id, to follow along; with
        ``before`` the last ones before it, to look back. All that is kept is searched."""
        query = read_query(LogsQuery, request)
        row = selectors.deployment_get(endpoint, deployment)
        asked = query["since"].timestamp() if query["since"] else 0.0
        found = log_lines(
            endpoint=endpoint,
            deployment=deployment,
            tail=query["tail"],
            replica_id=query["replica"],
            stream=query["stream"] or query["container"],
            since=max(asked, selectors.told_since(row.endpoint)),
            until=query["until"].timestamp() if query["until"] else 0.0,
            q=query["q"],
            level=query["level"],
            after=query["after"],
            before=query["before"],
        )
        return Response(LogLinesSerializer(found).data)
