"""REST of what is done to a deployment as a whole: revisions, going back, pausing."""

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import may
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate_values
from controlplane.core.requests import flag, read_body, read_query
from controlplane.deployments import selectors
from controlplane.deployments.live_config import config_served
from controlplane.deployments.selectors.shown import deployment_shown
from controlplane.deployments.serializers.autoscaling import (
    AutoscalePreviewInputSerializer,
    ReplaySerializer,
)
from controlplane.deployments.serializers.deployment_inputs import (
    DeploymentRollSerializer,
    RollbackSerializer,
    ScaleSerializer,
)
from controlplane.deployments.serializers.endpoints import (
    DeploymentRevisionListSerializer,
    ReplicaSerializer,
)
from controlplane.operations import services
from controlplane.operations.api.reading import (
    FORCE,
    SKIP_GOLDEN,
    golden_gate,
    operate,
    operation_schema,
    variables_read,
)
from controlplane.registry.selectors import repo_model_get

ReplicaPageSerializer = page_of(ReplicaSerializer)


class RevisionsView(ProjectAPIView):
    @extend_schema(operation_id="deployments_revisions", responses=DeploymentRevisionListSerializer)
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """What it was asked to run, the newest first."""
        del request
        rows = selectors.revision_list(endpoint, deployment)
        return Response(DeploymentRevisionListSerializer({"items": rows}).data)


class ServedConfigView(ProjectAPIView):
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
        model = repo_model_get(row.revision.model_version, repo_model)
        return Response(config_served(row, model.name))


class RollbackView(ProjectAPIView):
    @operation_schema(
        "deployments_rollback", body=RollbackSerializer, not_found="`RevisionNotFound`"
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Run an earlier revision again. What serves now serves until that one is ready.

        `CodeNotAllowed` where it had variables that you may not set."""
        values = read_body(RollbackSerializer, request)
        values["may_run_code"] = may(request, Permission.CODE)
        return operate(request, endpoint, deployment, services.deployment_rollback, **values)


class UpdateView(ProjectAPIView):
    @operation_schema("deployments_roll", body=DeploymentRollSerializer, parameters=[SKIP_GOLDEN])
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Another version, configuration or environment, without a gap: the new replicas must
        answer before the old ones go. If they never do, the old ones stay."""
        values = read_body(DeploymentRollSerializer, request)
        variables_read(values, request)
        values["golden"] = golden_gate(request)
        return operate(request, endpoint, deployment, services.deployment_roll, **values)


class ScaleView(ProjectAPIView):
    @operation_schema("deployments_scale_to", body=ScaleSerializer)
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """That many replicas. A `PATCH` of `instance_count` does the same."""
        values = read_body(ScaleSerializer, request)
        return operate(request, endpoint, deployment, services.deployment_scale, **values)


class AutoscalePreviewView(ProjectAPIView):
    @extend_schema(
        operation_id="deployments_autoscale_preview",
        request=AutoscalePreviewInputSerializer,
        responses={
            200: ReplaySerializer,
            409: OpenApiResponse(description="`NothingMeasured`"),
        },
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """What a policy would have done with the last hours; nothing is changed."""
        values = read_body(AutoscalePreviewInputSerializer, request)
        found = services.autoscaling_preview(
            endpoint=endpoint, name=deployment, now=timezone.now(), **values
        )
        return Response(ReplaySerializer(found).data)


class ReplicasView(ProjectAPIView):
    @extend_schema(
        operation_id="deployments_replicas",
        parameters=PAGE_PARAMETERS,
        responses=ReplicaPageSerializer,
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Its replicas, those on their way out included; `q` is in the id or the node's name."""
        query = read_query(PageQuery, request)
        row = selectors.deployment_get(endpoint, deployment)
        shown = deployment_shown(row, row.endpoint, {})["replicas"]
        page = paginate_values(
            [one for one in shown if query["q"] in one["id"] or query["q"] in str(one["node"])],
            limit=query["limit"],
            cursor=query["cursor"],
            key=lambda one: (f"{one['ordinal']:08}", one["id"]),
        )
        return Response(ReplicaPageSerializer(page).data)


class RestartView(ProjectAPIView):
    @operation_schema("deployments_restart")
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """The same anew, without a gap: fresh replicas answer before those of now go."""
        return operate(request, endpoint, deployment, services.deployment_restart)


class StopView(ProjectAPIView):
    @operation_schema(
        "deployments_stop",
        parameters=[FORCE],
        conflict="`DeploymentHasTraffic`, `OperationInProgress` with the `operation`",
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Pause it: no replicas, all else stays."""
        force = flag(request, "force")
        return operate(request, endpoint, deployment, services.deployment_pause, force=force)


class StartView(ProjectAPIView):
    @operation_schema("deployments_start")
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Resume it with as many replicas as before the pause."""
        return operate(request, endpoint, deployment, services.deployment_resume)
