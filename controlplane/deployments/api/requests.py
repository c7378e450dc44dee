"""REST of single requests: failed ones, slow ones, and a few of all."""

import time
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.requests import read_query
from controlplane.deployments import selectors
from controlplane.deployments.errors import RequestNotFound
from controlplane.deployments.selectors.requests import request_story, requests_shown
from controlplane.deployments.waterfall import WHAT
from controlplane.metrics.selectors import MOST_REQUESTS, RequestFilter
from controlplane.metrics.types import KEEP_SAMPLES_S

LONGEST_ID = 64
WHY = ("failed", "slow", "sampled")
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
    why = serializers.ChoiceField(choices=WHY, help_text="why it was kept")
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


class ModelSpanSerializer(serializers.Serializer[None]):
    model = serializers.CharField()
    version = serializers.IntegerField()
    parent = serializers.IntegerField(  # type: ignore[assignment]  # a wire field
        help_text="place among the spans; -1 for the first"
    )
    via = serializers.CharField(
        help_text="`step` of an ensemble, `call` of a model, empty for the client's own request"
    )
    start_us = serializers.FloatField(help_text="since the request came to the replica")
    total_us = serializers.FloatField()
    batch = serializers.IntegerField(help_text="requests executed together; 0: nothing was")
    accept_us = serializers.FloatField(
        allow_null=True, help_text="decoding; this and the following, one behind the other"
    )
    queue_us = serializers.FloatField(allow_null=True)
    input_us = serializers.FloatField(allow_null=True, help_text="making the batch")
    infer_us = serializers.FloatField(allow_null=True)
    output_us = serializers.FloatField(allow_null=True, help_text="splitting what came out")
    error = serializers.CharField(help_text="its kind")


class RequestTraceSerializer(serializers.Serializer[None]):
    replica = serializers.CharField()
    node = serializers.CharField()
    deployment = serializers.CharField()
    at = serializers.FloatField(help_text="Unix seconds of its arrival at the replica")
    why = serializers.ChoiceField(choices=WHY, help_text="why it was kept")
    spans = ModelSpanSerializer(many=True, help_text="of models, that of the request first")
    left_out = serializers.IntegerField(help_text="spans beyond the most that are kept")
    shared_with = serializers.ListField(
        child=serializers.CharField(),
        help_text="ids of others that were executed with it, as far as they are kept",
    )


class RequestBarSerializer(serializers.Serializer[None]):
    what = serializers.ChoiceField(
        choices=WHAT,
        help_text="the client sends (`receive`), gateway, network and replica (`inside`), the "
        "client takes the answer (`send`); a `model`, and what it did",
    )
    depth = serializers.IntegerField(help_text="parts stand below, and one deeper than their whole")
    start_us = serializers.FloatField(
        help_text="since the gateway's first byte, or the replica's where no gateway tells"
    )
    took_us = serializers.FloatField()
    span = serializers.IntegerField(allow_null=True, help_text="place of the model's span")
    leaf = serializers.BooleanField(help_text="no other is part of it")
    slow = serializers.BooleanField(help_text="the longest, where that is a good part of all")


class RequestStorySerializer(serializers.Serializer[None]):
    seen = SeenRequestSerializer(allow_null=True, help_text="by the gateway")
    trace = RequestTraceSerializer(allow_null=True, help_text="by the replica")
    bars = RequestBarSerializer(many=True, help_text="where its time went")
    told = serializers.CharField(help_text="why there is no trace")


class RequestStoriesSerializer(serializers.Serializer[None]):
    id = serializers.CharField()
    items = RequestStorySerializer(many=True, help_text="several where clients sent one id often")


class RequestView(ProjectAPIView):
    @extend_schema(
        operation_id="endpoints_request",
        responses={
            200: RequestStoriesSerializer,
            404: OpenApiResponse(description="`RequestNotFound`: nothing is kept of this id"),
        },
    )
    def get(self, request: Request, endpoint: str, request_id: str) -> Response:
        """One request of the last hours by its x-request-id: what its gateway saw, and where its
        time went in the replica."""
        del request
        row = selectors.endpoint_get(endpoint)
        since = max(time.time() - KEEP_SAMPLES_S, selectors.told_since(row))
        items = request_story(row, request_id, since)
        if not items:
            raise RequestNotFound(
                f"Nothing is kept of a request {request_id[:LONGEST_ID]!r} of {row.name}."
            )
        body: Any = {"id": request_id, "items": items}
        return Response(RequestStoriesSerializer(body).data)


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
