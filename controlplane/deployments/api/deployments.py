"""REST of deployments, and of ``/deploy``, which does it all in one call."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import flag, read_body, read_query
from controlplane.deployments import selectors, services
from controlplane.deployments.api.reading import (
    IF_MATCH,
    accepted,
    actor,
    deployment_etag,
    deployment_unchanged,
)
from controlplane.deployments.selectors.shown import deployment_shown, latest_operations
from controlplane.deployments.serializers.endpoints import (
    DeployInputSerializer,
    DeploymentInputSerializer,
    DeploymentPatchSerializer,
    DeploymentSerializer,
    Fields,
    LogLinesSerializer,
)
from controlplane.deployments.serializers.operations import OperationSerializer
from controlplane.metrics.selectors import log_lines

DeploymentPageSerializer = page_of(DeploymentSerializer)


class LogsQuery(Fields):
    tail = serializers.IntegerField(min_value=1, max_value=5000, default=200)
    replica = serializers.CharField(required=False, default="", allow_blank=True)
    stream = serializers.CharField(required=False, default="", allow_blank=True)
    after = serializers.IntegerField(required=False, min_value=0, default=None)
    before = serializers.IntegerField(required=False, min_value=0, default=None)


class DeployView(APIView):
    @extend_schema(
        operation_id="deploy",
        request=DeployInputSerializer,
        responses={
            202: OperationSerializer,
            409: OpenApiResponse(description="`OperationInProgress`, `DeploymentHasTraffic`"),
        },
    )
    def post(self, request: Request) -> Response:
        """From a registered model to an answering endpoint; asking twice is harmless."""
        values = read_body(DeployInputSerializer, request)
        endpoint, deployment = values.pop("endpoint"), values.pop("deployment")
        operation = services.deploy(
            spec=services.Spec(**values),
            endpoint=endpoint,
            deployment=deployment,
            actor=actor(request),
            now=timezone.now(),
        )
        return accepted(operation)


class DeploymentsView(APIView):
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
        request=DeploymentInputSerializer,
        responses={202: OperationSerializer},
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """A further deployment; it gets no traffic unless ``traffic`` says so."""
        values = read_body(DeploymentInputSerializer, request)
        name, replace = values.pop("name"), values.pop("replace")
        operation = services.deployment_create(
            endpoint=endpoint,
            name=name,
            replace=replace,
            spec=services.Spec(**values),
            actor=actor(request),
            now=timezone.now(),
        )
        return accepted(operation)


class DeploymentView(APIView):
    @extend_schema(operation_id="deployments_get", responses=DeploymentSerializer)
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        del request
        row = selectors.deployment_get(endpoint, deployment)
        shown = deployment_shown(row, row.endpoint, latest_operations([endpoint]))
        return Response(DeploymentSerializer(shown).data, headers={"ETag": deployment_etag(shown)})

    @extend_schema(
        operation_id="deployments_scale",
        parameters=[IF_MATCH],
        request=DeploymentPatchSerializer,
        responses={
            200: OpenApiResponse(DeploymentSerializer, description="done, without scaling"),
            202: OperationSerializer,
        },
    )
    def patch(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Scale it, or change the words about it and its request settings."""
        values = read_body(DeploymentPatchSerializer, request)
        with deployment_unchanged(request, endpoint, deployment):
            return self._patch(request, endpoint, deployment, values)

    def _patch(
        self, request: Request, endpoint: str, deployment: str, values: dict[str, Any]
    ) -> Response:
        count = values.pop("instance_count", None)
        if values:
            services.deployment_update(
                endpoint=endpoint, name=deployment, actor=actor(request), **values
            )
        if count is None:
            return self.get(request, endpoint, deployment)
        operation = services.deployment_scale(
            endpoint=endpoint,
            name=deployment,
            instance_count=count,
            actor=actor(request),
            now=timezone.now(),
        )
        return accepted(operation)

    @extend_schema(
        operation_id="deployments_delete",
        request=None,
        parameters=[OpenApiParameter("force", bool, description="even if it carries traffic")],
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


class LogsView(APIView):
    @extend_schema(
        operation_id="deployments_logs", parameters=[LogsQuery], responses=LogLinesSerializer
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """The last lines, in order; with ``after`` those behind that id, to follow along; with
        ``before`` the last ones before it, to look back."""
        query = read_query(LogsQuery, request)
        selectors.deployment_get(endpoint, deployment)
        lines = log_lines(
            endpoint=endpoint,
            deployment=deployment,
            tail=query["tail"],
            replica_id=query["replica"],
            stream=query["stream"],
            after=query["after"],
            before=query["before"],
        )
        return Response(LogLinesSerializer({"lines": lines}).data)
