"""How a request proves who sends it: an API token, or the browser's session with a CSRF token."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from controlplane.accounts import selectors, services
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.types import TOKEN_PREFIX
from controlplane.core.errors import Forbidden

CHALLENGE = 'Bearer realm="shoal"'


class ApiTokenAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer shoal_...``; any other bearer is refused rather than passed over."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        clear = value.strip()
        token = None
        if scheme.lower() == "bearer" and clear.startswith(TOKEN_PREFIX):
            token = selectors.token_get(clear)
        if token is None:
            services.token_refused(clear, address=str(request.META.get("REMOTE_ADDR") or ""))
            raise exceptions.AuthenticationFailed(
                "This API token is not valid, has expired, or was revoked."
            )
        services.token_touch(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        del request
        return CHALLENGE


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session; without one the answer is 401, not 403: clients know to sign in."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        found = super().authenticate(request)
        if found is not None:
            services.session_touch(request._request.session.session_key or "")
        return found

    def enforce_csrf(self, request: Any) -> None:
        """Raises Forbidden: no role helps here, a fresh token does."""
        try:
            super().enforce_csrf(request)
        except exceptions.PermissionDenied as error:
            raise Forbidden(
                str(error.detail),
                code="CsrfFailed",
                field="X-CSRFToken",
                hints=(
                    "Reload the page and try again.",
                    "Send `csrf_token` of GET /api/v1/session in the header X-CSRFToken; programs "
                    "send an API token instead of a cookie.",
                ),
            ) from error

    def authenticate_header(self, request: Request) -> str:
        del request
        return CHALLENGE


class ApiTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = ApiTokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        del auto_schema
        return {"type": "http", "scheme": "bearer", "description": "An API token, `shoal_...`"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        del auto_schema
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "shoal_session",
            "description": "The studio's cookie; writes also need the header X-CSRFToken",
        }
