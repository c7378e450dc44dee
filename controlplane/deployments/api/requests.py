"""REST of single requests: failed ones, slow ones, and a few of all."""

import time
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.requests import read_query
from controlplane.deployments import selectors
from controlplane.deployments.selectors.requests import requests_shown
from controlplane.metrics.selectors import MOST_REQUESTS, RequestFilter
from controlplane.metrics.types import KEEP_SAMPLES_S

STATUSES = ("failed", "2xx", "3xx", "4xx", "5xx")


class RequestsQuery(serializers.Serializer[None]):
    deployment = serializers.CharField(required=False, default="", allow_blank=True)
    status = serializers.ChoiceField(
        choices=STATUSES, required=False, default="", allow_blank=True, help_text="failed: 4xx, 5xx"
    )
    min_ms = serializers.FloatField(
        min_value=0, required=False, default=0.0, help_text="that took so long at least"
    )
    id = serializers.CharField(
        max_length=64,
        required=False,
        default="",
        allow_blank=True,
        help_text="x-request-id, or how it begins",
    )
    order = serializers.ChoiceField(choices=("newest", "slowest"), required=False, default="newest")
    range = serializers.IntegerField(
        min_value=1,
        max_value=int(KEEP_SAMPLES_S),
        required=False,
        default=3600,
        help_text="the last so many seconds",
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=MOST_REQUESTS, required=False, default=50
    )


class SeenRequestSerializer(serializers.Serializer[None]):
    id = serializers.CharField(help_text="x-request-id, which the client was told as well")
    deployment = serializers.CharField(help_text="empty: the gateway answered by itself")
    at = serializers.FloatField(help_text="Unix seconds of its first byte")
    why = serializers.ChoiceField(
        choices=("failed", "slow", "sampled"), help_text="why it was kept"
    )
    method = serializers.CharField()
    path = serializers.CharField(help_text="below the endpoint")
    status = serializers.IntegerField(help_text="of HTTP; 0: the client went away before")
    status_class = serializers.CharField()
    grpc_status = serializers.IntegerField(allow_null=True)
    replica = serializers.CharField(help_text="empty where it is gone, or was none")
    node = serializers.CharField()
    host = serializers.CharField(help_text="address:port of the replica")
    attempts = serializers.IntegerField(help_text="replicas that were asked")
    duration_us = serializers.FloatField(
        allow_null=True, help_text="null for streams, and for what the gateway refused"
    )
    receive_us = serializers.FloatField(help_text="until the client had sent everything")
    replica_us = serializers.FloatField(
        allow_null=True, help_text="from then on until the first byte of the answer"
    )
    send_us = serializers.FloatField(help_text="until the client had taken everything")
    request_bytes = serializers.IntegerField()
    response_bytes = serializers.IntegerField()
    as_json = serializers.BooleanField(help_text="the tensors came as text")
    flags = serializers.CharField(help_text="Envoy's, of what went wrong")
    details = serializers.CharField(help_text="Envoy's, of who answered")


class SeenRequestsSerializer(serializers.Serializer[None]):
    items = SeenRequestSerializer(many=True)


class RequestsView(ProjectAPIView):
    @extend_schema(
        operation_id="endpoints_requests",
        parameters=[RequestsQuery],
        responses=SeenRequestsSerializer,
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """Single requests of the last hours: every two seconds gateways tell of three that failed,
        three refused ones, the three slowest and three of all others, for each endpoint."""
        row = selectors.endpoint_get(endpoint)
        values = read_query(RequestsQuery, request)
        now = time.time()
        wanted = RequestFilter(
            endpoint=row.name,
            since=max(now - values["range"], selectors.told_since(row)),
            until=now,
            deployment=values["deployment"],
            status_class=values["status"],
            least_us=values["min_ms"] * 1000,
            request_id=values["id"],
        )
        items = requests_shown(
            row, wanted, slowest=values["order"] == "slowest", limit=values["limit"]
        )
        body: Any = {"items": items}
        return Response(SeenRequestsSerializer(body).data)
