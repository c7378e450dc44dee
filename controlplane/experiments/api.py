"""REST of how the arms of an endpoint's split compare, and how a change of it does."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.requests import read_query
from controlplane.deployments.selectors import endpoint_get
from controlplane.experiments.selectors import experiment, traffic_watch
from controlplane.experiments.serializers import (
    ExperimentQuery,
    ExperimentSerializer,
    TrafficWatchSerializer,
)


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


class TrafficWatchView(ProjectAPIView):
    @extend_schema(
        operation_id="endpoints_traffic_watch",
        responses={
            200: TrafficWatchSerializer,
            404: OpenApiResponse(description="`EndpointNotFound`"),
        },
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """How those do who got more of the traffic by its last change, beside how the endpoint did
        in the five minutes before: what gateways counted from when it was routed until it is no
        longer watched, or was undone."""
        del request
        found: Any = traffic_watch(endpoint_get(endpoint), timezone.now())
        return Response(TrafficWatchSerializer(found).data)
