"""REST of drafts: the caller's own deployments that are not sent yet."""

from typing import cast

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.models import User
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import flag, read_body, read_only, read_query
from controlplane.registry import selectors
from controlplane.registry.serializers.drafts import (
    DraftInputSerializer,
    DraftSaveSerializer,
    DraftSerializer,
    DraftSummarySerializer,
)
from controlplane.registry.services import drafts

DraftPageSerializer = page_of(DraftSummarySerializer)
SHOWN_ONLY = read_only(DraftSerializer, DraftSaveSerializer)


class DraftsView(ProjectAPIView):
    @extend_schema(
        operation_id="drafts_list", parameters=PAGE_PARAMETERS, responses=DraftPageSerializer
    )
    def get(self, request: Request) -> Response:
        """Your own, the last saved first."""
        asked = read_query(PageQuery, request)
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
        draft = drafts.draft_create(
            user=cast(User, request.user), **read_body(DraftInputSerializer, request)
        )
        return Response(DraftSerializer(draft).data, status=status.HTTP_201_CREATED)


class DraftView(ProjectAPIView):
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
        draft = drafts.draft_save(
            user=cast(User, request.user),
            draft_id=draft_id,
            **read_body(DraftSaveSerializer, request, ignored=SHOWN_ONLY),
        )
        return Response(DraftSerializer(draft).data)

    @extend_schema(
        operation_id="drafts_delete",
        request=None,
        parameters=[OpenApiParameter("keep_upload", bool, description="default: it goes as well")],
        responses={204: None},
    )
    def delete(self, request: Request, draft_id: str) -> Response:
        drafts.draft_delete(
            user=cast(User, request.user),
            draft_id=draft_id,
            keep_upload=flag(request, "keep_upload"),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)
