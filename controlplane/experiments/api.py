"""REST of how the arms of an endpoint's split compare."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.requests import read_query
from controlplane.deployments.selectors import endpoint_get
from controlplane.experiments.selectors import experiment
from controlplane.experiments.serializers import ExperimentQuery, ExperimentSerializer


class ExperimentView(ProjectAPIView):
    @extend_schema(
        operation_id="endpoints_experiment",
        parameters=[ExperimentQuery],
        responses={
            200: ExperimentSerializer,
            404: OpenApiResponse(description="`EndpointNotFound`, `DeploymentNotFound`"),
        },
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """Deployments with a share or a rule: the split asked and measured, failures, latency,
        and how sure it is that one does worse, or better, than the baseline."""
        row = endpoint_get(endpoint)
        query = read_query(ExperimentQuery, request)
        found: Any = experiment(
            row,
            baseline=query["baseline"],
            seconds=float(query["range"]),
            now=timezone.now(),
        )
        return Response(ExperimentSerializer(found).data)
