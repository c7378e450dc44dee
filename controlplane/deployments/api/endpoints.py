"""REST of endpoints: themselves, traffic, keys, snippets, series."""

import time
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.policy import Permission
from controlplane.core.etags import IF_MATCH, if_match_check, if_none_match_check
from controlplane.core.filters import TAG_PARAMETER, ChoicesField, tags_of
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_only, read_query
from controlplane.deployments import selectors, services
from controlplane.deployments.api.reading import (
    IF_NONE_MATCH,
    SUPERSEDE,
    accepted,
    actor,
    endpoint_body,
    endpoint_change,
    endpoint_etag,
    endpoint_seen,
)
from controlplane.deployments.selectors.consume import endpoint_openapi, endpoint_snippets
from controlplane.deployments.serializers.endpoints import (
    EndpointInputSerializer,
    EndpointKeysSerializer,
    EndpointPatchSerializer,
    EndpointPutSerializer,
    EndpointSerializer,
    EndpointTokenSerializer,
    KeyRegenerateSerializer,
    SnippetsSerializer,
)
from controlplane.deployments.serializers.operations import OperationSerializer
from controlplane.deployments.services.endpoints import LIMITS, locked
from controlplane.deployments.types import EndpointState
from controlplane.metrics.selectors import endpoint_history, live_series, replica_history
from controlplane.metrics.serializers import (
    EndpointMetricsQuery,
    SeriesSerializer,
    history_body,
    live_body,
    query_of,
    replicas_body,
)

EndpointItemsSerializer = page_of(EndpointSerializer)
ORDERS = ["name", "-name", "created_at", "-created_at", "updated_at", "-updated_at"]


@extend_schema_serializer(component_name="EndpointPage")
class EndpointPageSerializer(EndpointItemsSerializer):  # type: ignore[misc, valid-type]
    total = serializers.IntegerField(help_text="endpoints that match, on all pages")


SHOWN_ONLY = read_only(EndpointSerializer, EndpointPutSerializer) - {"name"}
LONGEST_LIVE_S = 900


class EndpointsQuery(PageQuery):
    state = ChoicesField(EndpointState.values)
    created_after = serializers.DateTimeField(required=False, default=None)
    created_before = serializers.DateTimeField(required=False, default=None)
    order_by = serializers.ChoiceField(choices=ORDERS, default="name")


class EndpointsView(APIView):
    @extend_schema(
        operation_id="endpoints_list",
        parameters=[
            *PAGE_PARAMETERS,
            OpenApiParameter(
                "state", str, description=f"one or several of {','.join(EndpointState.values)}"
            ),
            OpenApiParameter("created_after", datetime),
            OpenApiParameter("created_before", datetime),
            OpenApiParameter("order_by", str, enum=ORDERS, description="default name"),
            TAG_PARAMETER,
        ],
        responses=EndpointPageSerializer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(EndpointsQuery, request)
        rows = selectors.endpoints_matching(
            q=query["q"],
            states=query["state"],
            created_after=query["created_after"],
            created_before=query["created_before"],
            tags=tags_of(request),
        )
        page = paginate(
            rows,
            limit=query["limit"],
            cursor=query["cursor"],
            order=list(dict.fromkeys([query["order_by"], "id"])),
        )
        items = selectors.endpoints_shown(page.items)
        body = {"items": items, "next_cursor": page.next_cursor, "total": rows.count()}
        return Response(EndpointPageSerializer(body).data)

    @extend_schema(
        operation_id="endpoints_create",
        request=EndpointInputSerializer,
        responses={201: EndpointSerializer},
    )
    def post(self, request: Request) -> Response:
        values = read_body(EndpointInputSerializer, request)
        limits = _limits(values)
        endpoint = services.endpoint_create(
            **values, limits=limits, actor=actor(request), now=timezone.now()
        )
        return Response(endpoint_body(endpoint), status=status.HTTP_201_CREATED)


class EndpointView(APIView):
    @extend_schema(operation_id="endpoints_get", responses=EndpointSerializer)
    def get(self, request: Request, endpoint: str) -> Response:
        del request
        body = endpoint_body(selectors.endpoint_get(endpoint))
        return Response(body, headers={"ETag": endpoint_etag(body)})

    @extend_schema(
        operation_id="endpoints_put",
        parameters=[IF_MATCH, IF_NONE_MATCH, SUPERSEDE],
        request=EndpointPutSerializer,
        responses={200: EndpointSerializer, 201: EndpointSerializer},
    )
    def put(self, request: Request, endpoint: str) -> Response:
        """Let it be just this, whether it exists or not. What is left out goes to its default;
        shares that are not named stay, and so do its deployments and keys."""
        values = read_body(
            EndpointPutSerializer, request, ignored=SHOWN_ONLY, fixed={"name": endpoint}
        )
        limits = _limits(values)
        with transaction.atomic():
            known = locked(endpoint) is not None
            tag, seen = endpoint_seen(endpoint) if known else (None, None)
            if_match_check(request, tag, seen)
            if_none_match_check(request, tag)
            with endpoint_change(request, endpoint):
                done = services.endpoint_put(
                    name=endpoint,
                    values=values,
                    limits=limits,
                    actor=actor(request),
                    now=timezone.now(),
                )
        answer = self.get(request, endpoint)
        answer.status_code = status.HTTP_201_CREATED if done.created else status.HTTP_200_OK
        return answer

    @extend_schema(
        operation_id="endpoints_update",
        parameters=[IF_MATCH],
        request=EndpointPatchSerializer,
        responses=EndpointSerializer,
    )
    def patch(self, request: Request, endpoint: str) -> Response:
        values = read_body(
            EndpointPatchSerializer, request, ignored=SHOWN_ONLY, fixed={"name": endpoint}
        )
        limits = _limits(values)
        with endpoint_change(request, endpoint, in_the_way=()):
            row = services.endpoint_update(
                name=endpoint, actor=actor(request), limits=limits, **values
            )
        body = endpoint_body(row)
        return Response(body, headers={"ETag": endpoint_etag(body)})

    @extend_schema(
        operation_id="endpoints_delete", request=None, responses={202: OperationSerializer}
    )
    def delete(self, request: Request, endpoint: str) -> Response:
        """Delete it with its deployments; legal in every state, models stay."""
        operation = services.endpoint_delete(
            name=endpoint, actor=actor(request), now=timezone.now()
        )
        return accepted(operation)


class KeysView(APIView):
    write_permission = Permission.KEYS

    @extend_schema(
        operation_id="endpoints_keys_list", request=None, responses=EndpointKeysSerializer
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """Both keys in clear. Not a GET: it is audited, and nothing may cache it."""
        keys = services.endpoint_keys_reveal(name=endpoint, actor=actor(request))
        return Response(_keys_body(keys))


class KeysRegenerateView(APIView):
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


class TokenView(APIView):
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


class TokensRevokeView(APIView):
    write_permission = Permission.KEYS

    @extend_schema(operation_id="endpoints_tokens_revoke", request=None, responses={204: None})
    def post(self, request: Request, endpoint: str) -> Response:
        """All tokens of before stop working, within seconds."""
        services.endpoint_tokens_revoke(name=endpoint, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _limits(values: dict[str, Any]) -> dict[str, Any]:
    """Taken out of ``values``: null means "no limit" there, and left out "as it is"."""
    return {name: values.pop(name) for name in LIMITS if name in values}


def _keys_body(keys: dict[str, str]) -> dict[str, str]:
    return {"primaryKey": keys["primary"], "secondaryKey": keys["secondary"]}


class OpenapiView(APIView):
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


class SnippetsView(APIView):
    @extend_schema(operation_id="endpoints_snippets", responses=SnippetsSerializer)
    def get(self, request: Request, endpoint: str) -> Response:
        """Programs that call this endpoint, with its own tensor names and shapes."""
        del request
        return Response(SnippetsSerializer(endpoint_snippets(endpoint)).data)


class MetricsView(APIView):
    @extend_schema(
        operation_id="endpoints_metrics",
        parameters=[EndpointMetricsQuery],
        responses=SeriesSerializer,
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """The series of the panels, columnar: the live ones (every half second) for a `range` of
        at most 900 s and nothing else, otherwise buckets with their lowest and highest value.

        With `by=replica` each replica on its own, as long as raw samples are kept: 6 hours."""
        selectors.endpoint_get(endpoint)
        values = read_query(EndpointMetricsQuery, request)
        live = {"range"}.issuperset(request.query_params)
        if live and values["range"] <= LONGEST_LIVE_S:
            return Response(live_body(live_series(endpoint, float(values["range"]))))
        now = time.time()
        if values["by"] == "replica":
            return Response(
                replicas_body(
                    replica_history(
                        endpoint,
                        query_of(values, now),
                        deployment=values["deployment"],
                        node=values["node"],
                        now=now,
                        metrics=values["metrics"],
                    )
                )
            )
        found = endpoint_history(
            endpoint,
            query_of(values, now),
            node=values["node"],
            now=now,
            metrics=values["metrics"],
        )
        return Response(history_body(found))
