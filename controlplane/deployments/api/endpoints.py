"""REST of what belongs to an endpoint: keys, tokens, snippets, series."""

import time

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.requests import read_body, read_query
from controlplane.deployments import selectors, services
from controlplane.deployments.selectors.consume import endpoint_openapi, endpoint_snippets
from controlplane.deployments.serializers.endpoints import (
    EndpointKeysSerializer,
    EndpointTokenSerializer,
    KeyRegenerateSerializer,
    SnippetsSerializer,
)
from controlplane.metrics.selectors import endpoint_history, live_series, replica_history
from controlplane.metrics.serializers import (
    EndpointMetricsQuery,
    SeriesSerializer,
    history_body,
    live_body,
    query_of,
    replicas_body,
)

LONGEST_LIVE_S = 900


class KeysView(ProjectAPIView):
    write_permission = Permission.KEYS

    @extend_schema(
        operation_id="endpoints_keys_list", request=None, responses=EndpointKeysSerializer
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """Both keys in clear. Not a GET: it is audited, and nothing may cache it."""
        keys = services.endpoint_keys_reveal(name=endpoint, actor=actor(request))
        return Response(_keys_body(keys))


class KeysRegenerateView(ProjectAPIView):
    write_permission = Permission.KEYS

    @extend_schema(
        operation_id="endpoints_keys_regenerate",
        request=KeyRegenerateSerializer,
        responses=EndpointKeysSerializer,
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """A new key in one slot; the other keeps working."""
        values = read_body(KeyRegenerateSerializer, request)
        keys = services.endpoint_key_regenerate(
            name=endpoint, slot=values["key_type"], actor=actor(request)
        )
        return Response(_keys_body(keys))


class TokenView(ProjectAPIView):
    write_permission = Permission.KEYS

    @extend_schema(operation_id="endpoints_token", request=None, responses=EndpointTokenSerializer)
    def post(self, request: Request, endpoint: str) -> Response:
        """A token that opens the endpoint for 30 to 60 minutes; ask again after
        `refreshAfterTimeUtc`. Only with `auth_mode: aml_token`."""
        token = services.endpoint_token(name=endpoint, actor=actor(request), now=timezone.now())
        body = {
            "accessToken": token.clear,
            "expiryTimeUtc": int(token.expires_at.timestamp()),
            "refreshAfterTimeUtc": int(token.refresh_after.timestamp()),
            "tokenType": "Bearer",
        }
        return Response(EndpointTokenSerializer(body).data)


class TokensRevokeView(ProjectAPIView):
    write_permission = Permission.KEYS

    @extend_schema(operation_id="endpoints_tokens_revoke", request=None, responses={204: None})
    def post(self, request: Request, endpoint: str) -> Response:
        """All tokens of before stop working, within seconds."""
        services.endpoint_tokens_revoke(name=endpoint, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _keys_body(keys: dict[str, str]) -> dict[str, str]:
    return {"primaryKey": keys["primary"], "secondaryKey": keys["secondary"]}


class OpenapiView(ProjectAPIView):
    @extend_schema(
        operation_id="endpoints_openapi",
        responses={
            200: OpenApiResponse(OpenApiTypes.OBJECT, description="an OpenAPI 3.1 document"),
            404: OpenApiResponse(description="`DeploymentNotFound`: nothing is deployed yet"),
        },
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """What clients may call at the scoring URI, with the tensors of its models."""
        del request
        return Response(endpoint_openapi(endpoint))


class SnippetsView(ProjectAPIView):
    @extend_schema(operation_id="endpoints_snippets", responses=SnippetsSerializer)
    def get(self, request: Request, endpoint: str) -> Response:
        """Programs that call this endpoint, with its own tensor names and shapes."""
        del request
        return Response(SnippetsSerializer(endpoint_snippets(endpoint)).data)


class MetricsView(ProjectAPIView):
    @extend_schema(
        operation_id="endpoints_metrics",
        parameters=[EndpointMetricsQuery],
        responses=SeriesSerializer,
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """The series of the panels, columnar: the live ones (every half second) for a `range` of
        at most 900 s and nothing else, otherwise buckets with their lowest and highest value.

        With `by=replica` each replica on its own, as long as raw samples are kept: 6 hours."""
        row = selectors.endpoint_get(endpoint)
        values = read_query(EndpointMetricsQuery, request)
        live = {"range"}.issuperset(request.query_params)
        now = time.time()
        since = selectors.told_since(row)
        if live and values["range"] <= LONGEST_LIVE_S:
            range_s = min(float(values["range"]), now - since)
            return Response(live_body(live_series(endpoint, range_s)))
        if values["by"] == "replica":
            return Response(
                replicas_body(
                    replica_history(
                        endpoint,
                        query_of(values, now, since=since),
                        deployment=values["deployment"],
                        node=values["node"],
                        now=now,
                        metrics=values["metrics"],
                    )
                )
            )
        found = endpoint_history(
            endpoint,
            query_of(values, now, since=since),
            node=values["node"],
            now=now,
            metrics=values["metrics"],
        )
        return Response(history_body(found))
