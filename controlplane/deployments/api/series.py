"""REST of time series by any scope."""

import time

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.requests import read_query
from controlplane.deployments.selectors import scopes_told_since
from controlplane.metrics.selectors import scope_history
from controlplane.metrics.serializers import (
    MetricsQuery,
    SeriesSerializer,
    history_body,
    query_of,
)
from controlplane.metrics.types import Scope


class QueryView(ProjectAPIView):
    @extend_schema(
        operation_id="metrics_query",
        parameters=[MetricsQuery],
        responses={
            200: SeriesSerializer,
            400: OpenApiResponse(description="`BadArgument`: the field, and what was expected"),
        },
    )
    def get(self, request: Request) -> Response:
        """Series of up to 12 endpoints, deployments, models or nodes, up to 30 days back. Keys are
        `<metric>.<kind>/<id>`. Who has roles in projects alone asks for endpoints and deployments
        there, and is told nothing of before an endpoint was made."""
        values = read_query(MetricsQuery, request)
        scopes = [scope_of(values["by"], one) for one in values["ids"]]
        since = scopes_told_since(scopes)
        now = time.time()
        found = scope_history(
            scopes, values["metrics"], query_of(values, now), now=now, since=since
        )
        return Response(history_body(found))


def scope_of(kind: str, name: str) -> Scope:
    head, _, tail = name.partition("/") if kind == "deployment" else (name, "", "")
    return Scope(kind, head, tail)
