"""REST of drafts: the caller's own deployments that are not sent yet."""

from typing import Any, cast

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.models import User
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.drafts import selectors, services
from controlplane.drafts.serializers import (
    DraftInputSerializer,
    DraftSaveSerializer,
    DraftSerializer,
    DraftSummarySerializer,
)

DraftPageSerializer = page_of(DraftSummarySerializer)


def form(kind: type[DraftInputSerializer], request: Request) -> dict[str, Any]:
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


class DraftsView(APIView):
    @extend_schema(
        operation_id="drafts_list", parameters=PAGE_PARAMETERS, responses=DraftPageSerializer
    )
    def get(self, request: Request) -> Response:
        """Your own, the last saved first."""
        query = PageQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        asked = query.validated_data
        rows = selectors.draft_list(cast(User, request.user)).filter(title__icontains=asked["q"])
        page = paginate(
            rows, limit=asked["limit"], cursor=asked["cursor"], order=["-updated_at", "id"]
        )
        body = {"items": list(page.items), "next_cursor": page.next_cursor}
        return Response(DraftPageSerializer(body).data)

    @extend_schema(
        operation_id="drafts_create",
        request=DraftInputSerializer,
        responses={201: DraftSerializer},
    )
    def post(self, request: Request) -> Response:
        """It keeps the upload that it names from expiring."""
        draft = services.draft_create(
            user=cast(User, request.user), **form(DraftInputSerializer, request)
        )
        return Response(DraftSerializer(draft).data, status=status.HTTP_201_CREATED)


class DraftView(APIView):
    @extend_schema(operation_id="drafts_get", responses=DraftSerializer)
    def get(self, request: Request, draft_id: str) -> Response:
        draft = selectors.draft_get(cast(User, request.user), draft_id)
        return Response(DraftSerializer(draft).data)

    @extend_schema(
        operation_id="drafts_save",
        request=DraftSaveSerializer,
        responses={
            200: DraftSerializer,
            409: OpenApiResponse(description="`DraftChanged` with the kept `revision`"),
        },
    )
    def put(self, request: Request, draft_id: str) -> Response:
        """Save it whole."""
        draft = services.draft_save(
            user=cast(User, request.user),
            draft_id=draft_id,
            **form(DraftSaveSerializer, request),
        )
        return Response(DraftSerializer(draft).data)

    @extend_schema(
        operation_id="drafts_delete",
        request=None,
        parameters=[OpenApiParameter("keep_upload", bool, description="default: it goes as well")],
        responses={204: None},
    )
    def delete(self, request: Request, draft_id: str) -> Response:
        services.draft_delete(
            user=cast(User, request.user),
            draft_id=draft_id,
            keep_upload=request.query_params.get("keep_upload", "").lower() in ("true", "1"),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)
