"""REST of sessions: signing in and out, one's own password, the browsers that are signed in."""

from collections.abc import Collection
from typing import Any, Final, cast

from django.conf import settings
from django.contrib.auth import login, logout, update_session_auth_hash
from django.middleware.csrf import get_token
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import selectors, services
from controlplane.accounts.api import oidc
from controlplane.accounts.api.browsers import address_of, remember_browser
from controlplane.accounts.models import User
from controlplane.accounts.permissions import scopes_of
from controlplane.accounts.policy import Permission, permissions_held, permissions_within
from controlplane.accounts.projects import memberships_of
from controlplane.accounts.serializers import (
    BrowserSessionSerializer,
    CredentialsSerializer,
    PasswordChangeSerializer,
    SessionClosedSerializer,
    SessionSerializer,
)
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_query

BrowserSessionPageSerializer = page_of(BrowserSessionSerializer)


def _words(held: Collection[Permission]) -> list[str]:
    return [each.value for each in Permission if each in held]


def describe_session(request: Request) -> dict[str, Any]:
    user = request.user
    known = None
    if isinstance(user, User):
        factor = selectors.second_factor_of(user).state
        shut = factor == "missing" and request.auth is None
        scopes = scopes_of(request.auth)
        held = frozenset() if shut else permissions_held(user, scopes)
        known = {
            "username": user.username,
            "role": user.role,
            "permissions": _words(held),
            "projects": [
                {
                    "name": row.project_id,
                    "role": row.role,
                    "permissions": _words(permissions_within(row, scopes)),
                }
                for row in (() if shut else memberships_of(user))
            ],
            "sign_in": user.sign_in,
            "second_factor": factor,
        }
    return {
        "authenticated": known is not None,
        "user": known,
        "csrf_token": get_token(request._request),
        "version": settings.SHOAL_VERSION,
        "ways": {
            "passwords": settings.SHOAL_PASSWORDS,
            "oidc": settings.SHOAL_OIDC.name if settings.SHOAL_OIDC else None,
        },
    }


# How whatever looks at a password may be answered besides.
PASSWORD_TRIED: Final[dict[int, OpenApiResponse]] = {
    429: OpenApiResponse(description="`TooManyAttempts`; see `Retry-After`"),
    503: OpenApiResponse(description="`SignInBusy`; see `Retry-After`"),
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
            401: OpenApiResponse(
                description="`BadCredentials`; `CodeNeeded`: send `code` as well; `CodeWrong`"
            ),
            403: OpenApiResponse(description="`PasswordsOff`"),
            **PASSWORD_TRIED,
        },
    )
    def post(self, request: Request) -> Response:
        """Sign in. JSON only, which a foreign page cannot send: no CSRF token is needed here."""
        values = read_body(CredentialsSerializer, request)
        user = services.session_open(**values, address=address_of(request._request))
        login(request._request, user)
        remember_browser(request._request, user)
        request.user = user
        request.auth = None
        return Response(SessionSerializer(describe_session(request)).data)

    @extend_schema(
        operation_id="session_close",
        request=None,
        responses={200: SessionClosedSerializer, 204: None},
    )
    def delete(self, request: Request) -> Response:
        """Sign out here; 200 says where the provider's own session ends, if it has one."""
        elsewhere = oidc.logout_url(request._request)
        services.session_end(request._request.session.session_key or "")
        logout(request._request)
        if elsewhere is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(SessionClosedSerializer({"provider_logout_url": elsewhere}).data)


class PasswordView(APIView):
    write_permission = Permission.ACCOUNT

    @extend_schema(
        operation_id="session_password",
        request=PasswordChangeSerializer,
        responses={
            204: None,
            400: OpenApiResponse(description="`PasswordRefused`"),
            401: OpenApiResponse(description="`BadCredentials`: the current one is wrong"),
            403: OpenApiResponse(description="`PasswordsOff`"),
            409: OpenApiResponse(description="`SignsInElsewhere`"),
            **PASSWORD_TRIED,
        },
    )
    def post(self, request: Request) -> Response:
        """Change one's own password; all other browsers are signed out."""
        values = read_body(PasswordChangeSerializer, request)
        user = cast(User, request.user)
        services.password_change(
            user=user,
            **values,
            address=address_of(request._request),
        )
        if request.auth is None:
            update_session_auth_hash(request._request, user)  # gives it a new key as well
            remember_browser(request._request, user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class BrowserSessionsView(APIView):
    read_permission = Permission.ACCOUNT

    @extend_schema(
        operation_id="sessions_list",
        parameters=PAGE_PARAMETERS,
        responses=BrowserSessionPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """The browsers in which one is signed in."""
        query = read_query(PageQuery, request)
        rows = selectors.session_list_for(cast(User, request.user), timezone.now())
        page = paginate(
            rows.filter(agent__icontains=query["q"]),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["-last_seen_at", "id"],
        )
        context = {"session_key": request._request.session.session_key}
        return Response(BrowserSessionPageSerializer(page, context=context).data)


class BrowserSessionView(APIView):
    write_permission = Permission.ACCOUNT

    @extend_schema(operation_id="sessions_delete", request=None, responses={204: None})
    def delete(self, request: Request, session_id: int) -> Response:
        """Sign that browser out, at once."""
        user = cast(User, request.user)
        services.session_revoke(user=user, session_id=session_id, actor=user.username)
        return Response(status=status.HTTP_204_NO_CONTENT)
