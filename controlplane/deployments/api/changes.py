"""REST of what is done to a deployment as a whole: revisions, going back, pausing."""

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.core.requests import flag, read_body
from controlplane.deployments import selectors, services
from controlplane.deployments.api.reading import (
    IF_MATCH,
    accepted,
    actor,
    deployment_unchanged,
)
from controlplane.deployments.live_config import config_served
from controlplane.deployments.serializers.endpoints import (
    DeploymentRevisionListSerializer,
    DeploymentRollSerializer,
    RollbackSerializer,
)
from controlplane.deployments.serializers.operations import OperationSerializer
from controlplane.registry.selectors import repo_model_get


class RevisionsView(APIView):
    @extend_schema(operation_id="deployments_revisions", responses=DeploymentRevisionListSerializer)
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """What it was asked to run, the newest first."""
        del request
        rows = selectors.revision_list(endpoint, deployment)
        return Response(DeploymentRevisionListSerializer({"items": rows}).data)


class ServedConfigView(APIView):
    @extend_schema(
        operation_id="deployments_served_config",
        responses={
            200: OpenApiResponse(OpenApiTypes.OBJECT, description="Triton's ModelConfig as JSON"),
            409: OpenApiResponse(description="`ResourceNotReady`: no replica is ready"),
            503: OpenApiResponse(description="`ResourceNotReady`: it does not answer"),
        },
    )
    def get(self, request: Request, endpoint: str, deployment: str, repo_model: str) -> Response:
        """The complete configuration as a node serves with it, whatever was written."""
        del request
        row = selectors.deployment_get(endpoint, deployment)
        model = repo_model_get(row.model_version, repo_model)
        return Response(config_served(row, model.name))


class RollbackView(APIView):
    @extend_schema(
        operation_id="deployments_rollback",
        request=RollbackSerializer,
        responses={
            202: OperationSerializer,
            404: OpenApiResponse(description="`RevisionNotFound`"),
        },
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Run an earlier revision again. What serves now serves until that one is ready."""
        values = read_body(RollbackSerializer, request)
        operation = services.deployment_rollback(
            endpoint=endpoint,
            name=deployment,
            revision=values["revision"],
            actor=actor(request),
            now=timezone.now(),
        )
        return accepted(operation)


class UpdateView(APIView):
    @extend_schema(
        operation_id="deployments_roll",
        parameters=[IF_MATCH],
        request=DeploymentRollSerializer,
        responses={202: OperationSerializer},
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Another version, configuration or environment, without a gap: the new replicas must
        answer before the old ones go. If they never do, the old ones stay."""
        values = read_body(DeploymentRollSerializer, request)
        with deployment_unchanged(request, endpoint, deployment):
            operation = services.deployment_roll(
                endpoint=endpoint,
                name=deployment,
                actor=actor(request),
                now=timezone.now(),
                **values,
            )
        return accepted(operation)


class RestartView(APIView):
    @extend_schema(
        operation_id="deployments_restart", request=None, responses={202: OperationSerializer}
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """The same anew, without a gap: fresh replicas answer before those of now go."""
        operation = services.deployment_restart(
            endpoint=endpoint, name=deployment, actor=actor(request), now=timezone.now()
        )
        return accepted(operation)


class StopView(APIView):
    @extend_schema(
        operation_id="deployments_stop",
        request=None,
        parameters=[OpenApiParameter("force", bool, description="even if it carries traffic")],
        responses={
            202: OperationSerializer,
            409: OpenApiResponse(description="`DeploymentHasTraffic`"),
        },
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Pause it: no replicas, all else stays."""
        operation = services.deployment_pause(
            endpoint=endpoint,
            name=deployment,
            force=flag(request, "force"),
            actor=actor(request),
            now=timezone.now(),
        )
        return accepted(operation)


class StartView(APIView):
    @extend_schema(
        operation_id="deployments_start", request=None, responses={202: OperationSerializer}
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Resume it with as many replicas as before the pause."""
        operation = services.deployment_resume(
            endpoint=endpoint, name=deployment, actor=actor(request), now=timezone.now()
        )
        return accepted(operation)
