"""Who a trusted proxy says that a browser is (remote-user header): made a session, and held to it.

The headers themselves are read before Django, where the peer's own address is still known
(``config.remote_user``); here is only what came through there.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse

from controlplane.accounts import services
from controlplane.accounts.api.browsers import address_of, remember_browser
from controlplane.accounts.models import User
from controlplane.accounts.providers import RemoteUser
from controlplane.core.errors import DomainError
from controlplane.core.http import domain_problem

SCOPE: Final = "shoal_remote_user"  # where the guard before Django leaves what it was told
MARK: Final = "remote_user"  # of a session: what was told when it began
BACKEND: Final = "django.contrib.auth.backends.ModelBackend"

Message = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What a trusted proxy said of one request."""

    name: str
    groups: tuple[str, ...]

    @property
    def subject(self) -> str:
        return f"header {self.name}"

    @property
    def mark(self) -> str:
        """Another one where name or groups are others."""
        return hashlib.sha256(json.dumps([self.name, *self.groups]).encode()).hexdigest()


class RemoteUserMiddleware:
    """Signs a browser in as whom its proxy says it is, and out where that is not said any more.

    Requests with a scheme in ``Authorization`` are not its business: tokens prove themselves.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # why the scheme: without one the token's turn is passed on, to the session
        scheme = request.headers.get("Authorization", "").partition(" ")[0]
        if request.path.startswith("/api/") and not scheme:
            try:
                _follow(request, getattr(request, "scope", {}).get(SCOPE))
            except DomainError as error:
                return domain_problem(error, request.path)
        return self.get_response(request)


def _follow(request: HttpRequest, told: Told | None) -> None:
    remote: RemoteUser | None = settings.SHOAL_REMOTE_USER
    if told is None and settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return  # nobody; the session is left alone, so that the answer does not vary by cookie
    mark = request.session.get(MARK)
    if remote is None or told is None:
        if mark is not None:  # a cookie that comes past the proxy is worth nothing
            _leave(request)
        return
    user = request.user
    if isinstance(user, User):
        if user.sign_in == User.SignIn.BREAK_GLASS:
            return
        if mark == told.mark and user.subject == told.subject:
            return
        _leave(request)
    _arrive(request, remote, told)


def _leave(request: HttpRequest) -> None:
    services.session_end(request.session.session_key or "")
    logout(request)


def _arrive(request: HttpRequest, remote: RemoteUser, told: Told) -> None:
    address = address_of(request)
    attempt = services.attempt_begin_alone(name=told.subject, address=address)
    user = services.identity_sign_in(
        by=User.SignIn.HEADER,
        subject=told.subject,
        username=told.name,
        role=remote.roles.role_of(told.groups),
        groups=told.groups,
        address=address,
    )
    services.attempt_withdraw(attempt)
    login(request, user, backend=BACKEND)
    request.session[MARK] = told.mark
    request.session.save()
    remember_browser(request, user)


class RemoteUserSockets:
    """Whom a socket's session is of counts only while the proxy says the same."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        user, told = scope["user"], scope.get(SCOPE)
        if getattr(user, "sign_in", "") == User.SignIn.HEADER and (
            told is None or told.subject != user.subject
        ):
            scope["user"] = AnonymousUser()
        await self.app(scope, receive, send)
