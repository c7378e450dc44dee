"""REST of accounts: the session of this browser and the API tokens of this user."""

from typing import Any, cast

from django.conf import settings
from django.contrib.auth import login, logout
from django.middleware.csrf import get_token
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import selectors, services
from controlplane.accounts.models import User
from controlplane.accounts.serializers import (
    CredentialsSerializer,
    NewTokenSerializer,
    SessionSerializer,
    TokenInputSerializer,
    TokenSerializer,
)
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate

TokenPageSerializer = page_of(TokenSerializer)


def describe_session(request: Request) -> dict[str, Any]:
    user = request.user
    known = {"username": user.username, "role": user.role} if isinstance(user, User) else None
    return {
        "authenticated": known is not None,
        "user": known,
        "csrf_token": get_token(request._request),
        "version": settings.SHOAL_VERSION,
    }


class SessionView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(operation_id="session_get", responses=SessionSerializer)
    def get(self, request: Request) -> Response:
        """Who am I; also hands out the CSRF token that writes by cookie must send."""
        return Response(SessionSerializer(describe_session(request)).data)

    @extend_schema(
        operation_id="session_open",
        request=CredentialsSerializer,
        responses={
            200: SessionSerializer,
            401: OpenApiResponse(description="`BadCredentials`"),
            429: OpenApiResponse(description="`TooManyAttempts`; see `Retry-After`"),
        },
    )
    def post(self, request: Request) -> Response:
        """Sign in. JSON only, which a foreign page cannot send: no CSRF token is needed here."""
        form = CredentialsSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        address = str(request.META.get("REMOTE_ADDR") or "")
        user = services.session_open(**form.validated_data, address=address)
        login(request._request, user)
        request.user = user
        return Response(SessionSerializer(describe_session(request)).data)

    @extend_schema(operation_id="session_close", request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        logout(request._request)
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokensView(APIView):
    write_role = User.Role.VIEWER  # everybody manages their own

    @extend_schema(
        operation_id="tokens_list", parameters=PAGE_PARAMETERS, responses=TokenPageSerializer
    )
    def get(self, request: Request) -> Response:
        query = PageQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        rows = selectors.token_list_for(cast(User, request.user))
        page = paginate(
            rows.filter(name__icontains=query.validated_data["q"]),
            limit=query.validated_data["limit"],
            cursor=query.validated_data["cursor"],
            order=["-created_at", "id"],
        )
        return Response(TokenPageSerializer(page).data)

    @extend_schema(
        operation_id="tokens_create",
        request=TokenInputSerializer,
        responses={201: NewTokenSerializer},
    )
    def post(self, request: Request) -> Response:
        form = TokenInputSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        user = cast(User, request.user)
        token, clear = services.token_create(
            user=user, name=form.validated_data["name"], actor=user.username
        )
        body = {**TokenSerializer(token).data, "token": clear}
        return Response(body, status=status.HTTP_201_CREATED)


class TokenView(APIView):
    write_role = User.Role.VIEWER

    @extend_schema(operation_id="tokens_delete", request=None, responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        user = cast(User, request.user)
        services.token_delete(user=user, token_id=token_id, actor=user.username)
        return Response(status=status.HTTP_204_NO_CONTENT)
