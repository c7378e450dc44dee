"""REST of why an endpoint is slow."""

import time
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.bottlenecks.facts import parts
from controlplane.bottlenecks.pipeline_reads import pipeline_of
from controlplane.bottlenecks.ranking import findings, summary
from controlplane.bottlenecks.selectors import facts_of
from controlplane.bottlenecks.serializers import (
    BottlenecksQuery,
    BottlenecksSerializer,
    PipelineSerializer,
)
from controlplane.core.requests import read_query
from controlplane.deployments.errors import DeploymentNotFound
from controlplane.deployments.selectors import deployment_get, endpoint_get


class BottlenecksView(ProjectAPIView):
    @extend_schema(
        operation_id="endpoints_bottlenecks",
        parameters=[BottlenecksQuery],
        responses={
            200: BottlenecksSerializer,
            404: OpenApiResponse(description="`EndpointNotFound`, `DeploymentNotFound`"),
        },
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """Why requests take as long as they do: where a mean request's time went, and the
        likeliest causes with what to change."""
        row = endpoint_get(endpoint)
        values = read_query(BottlenecksQuery, request)
        facts = facts_of(row, values["deployment"], float(values["range"]), time.time())
        if facts is None:
            named = values["deployment"]
            raise DeploymentNotFound(
                f"Endpoint {endpoint} has no deployment{f' called {named}' if named else ''}."
            )
        found = findings(facts)
        body: Any = {
            "deployment": facts.deployment,
            "seconds": facts.seconds,
            "summary": summary(facts, found),
            "requests": facts.requests,
            "refused": facts.refused,
            "total_us": facts.total_us,
            "p50_us": facts.p50_us,
            "p95_us": facts.p95_us,
            "p99_us": facts.p99_us,
            "parts": parts(facts),
            "findings": found,
        }
        return Response(BottlenecksSerializer(body).data)


class PipelineView(ProjectAPIView):
    @extend_schema(
        operation_id="deployments_pipeline",
        responses={
            200: PipelineSerializer,
            404: OpenApiResponse(description="`EndpointNotFound`, `DeploymentNotFound`"),
        },
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """What each model of a deployment is doing: the steps of ensembles, and models that others
        call. Which one takes the time, and which one fails, is marked."""
        del request  # there is nothing to choose
        row = deployment_get(endpoint, deployment)
        return Response(PipelineSerializer(pipeline_of(row, time.time())).data)
