"""REST of API tokens: everybody manages their own."""

from typing import cast

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import selectors, services
from controlplane.accounts.models import User
from controlplane.accounts.policy import Permission
from controlplane.accounts.serializers import (
    NewTokenSerializer,
    TokenInputSerializer,
    TokenSerializer,
)
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_query

TokenPageSerializer = page_of(TokenSerializer)


class TokensView(APIView):
    read_permission = write_permission = Permission.ACCOUNT

    @extend_schema(
        operation_id="tokens_list", parameters=PAGE_PARAMETERS, responses=TokenPageSerializer
    )
    def get(self, request: Request) -> Response:
        query = read_query(PageQuery, request)
        rows = selectors.token_list_for(cast(User, request.user))
        page = paginate(
            rows.filter(name__icontains=query["q"]),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["-created_at", "id"],
        )
        return Response(TokenPageSerializer(page).data)

    @extend_schema(
        operation_id="tokens_create",
        request=TokenInputSerializer,
        responses={201: NewTokenSerializer},
    )
    def post(self, request: Request) -> Response:
        """A token that acts for you, within ``scopes`` and until ``expires_at``."""
        values = read_body(TokenInputSerializer, request)
        user = cast(User, request.user)
        token, clear = services.token_create(user=user, actor=user.username, **values)
        body = {**TokenSerializer(token).data, "token": clear}
        return Response(body, status=status.HTTP_201_CREATED)


class TokenView(APIView):
    write_permission = Permission.ACCOUNT

    @extend_schema(operation_id="tokens_delete", request=None, responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        user = cast(User, request.user)
        services.token_delete(user=user, token_id=token_id, actor=user.username)
        return Response(status=status.HTTP_204_NO_CONTENT)
