"""REST of operations. Waiting for an operation holds no thread."""

from datetime import datetime

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.filters import PROJECT_PARAMETER, ChoicesField
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import flag, read_query
from controlplane.core.waiting import WAIT, or_wait
from controlplane.operations import selectors, services
from controlplane.operations.api.reading import (
    SKIP_GOLDEN,
    SUPERSEDE,
    accepted,
    golden_gate,
    operation_body,
)
from controlplane.operations.selectors import operation_state
from controlplane.operations.serializers import OperationSerializer
from controlplane.operations.types import ACTIVE, OperationKind, OperationState

OperationPageSerializer = page_of(OperationSerializer)


class OperationQuery(PageQuery):
    endpoint = serializers.CharField(required=False, default="", allow_blank=True)
    state = ChoicesField(OperationState.values)
    kind = ChoicesField(OperationKind.values)
    actor = serializers.CharField(required=False, default="", allow_blank=True)
    since = serializers.DateTimeField(required=False, default=None)
    until = serializers.DateTimeField(required=False, default=None)
    project = serializers.CharField(required=False, default="", allow_blank=True)


class OperationsView(ProjectAPIView):
    @extend_schema(
        operation_id="operations_list",
        parameters=[
            *PAGE_PARAMETERS,
            OpenApiParameter("endpoint", str, description="only those of this endpoint"),
            OpenApiParameter(
                "state", str, description=f"one or several of {','.join(OperationState.values)}"
            ),
            OpenApiParameter(
                "kind", str, description=f"one or several of {','.join(OperationKind.values)}"
            ),
            OpenApiParameter("actor", str, description="only those that this person began"),
            OpenApiParameter("since", datetime, description="only those begun then or later"),
            OpenApiParameter("until", datetime, description="only those begun before"),
            PROJECT_PARAMETER,
        ],
        responses=OperationPageSerializer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(OperationQuery, request)
        limit, cursor = query.pop("limit"), query.pop("cursor")
        rows = selectors.OperationFilter(**query).rows()
        page = paginate(rows, limit=limit, cursor=cursor, order=["-created_at", "-id"])
        items = [selectors.operation_shown(operation) for operation in page.items]
        body = {"items": items, "next_cursor": page.next_cursor}
        return Response(OperationPageSerializer(body).data)


class OperationView(ProjectAPIView):
    @extend_schema(
        operation_id="operations_get",
        parameters=[WAIT],
        responses=OperationSerializer,
    )
    def get(self, request: Request, operation_id: str) -> Response:
        del request
        return Response(operation_body(selectors.operation_get(operation_id)))


operation_or_wait = or_wait(OperationView, key="operation_id", state=operation_state, active=ACTIVE)


class OperationCancelView(ProjectAPIView):
    @extend_schema(operation_id="operations_cancel", request=None, responses=OperationSerializer)
    def post(self, request: Request, operation_id: str) -> Response:
        operation = services.operation_cancel(
            operation_id=operation_id, actor=actor(request), now=timezone.now()
        )
        return Response(operation_body(operation))


class OperationRetryView(ProjectAPIView):
    @extend_schema(
        operation_id="operations_retry",
        parameters=[SUPERSEDE, SKIP_GOLDEN],
        request=None,
        responses={
            202: OperationSerializer,
            409: OpenApiResponse(
                description="`OperationFinished`: it did not fail; `OperationInProgress` with the "
                "`operation`"
            ),
        },
    )
    def post(self, request: Request, operation_id: str) -> Response:
        """A new operation that does the same again: what failed, or was cancelled."""
        operation = services.operation_retry(
            operation_id=operation_id,
            actor=actor(request),
            now=timezone.now(),
            supersede=flag(request, "supersede"),
            may_run_code=may(request, Permission.CODE),
            golden=golden_gate(request),
        )
        return accepted(operation)
