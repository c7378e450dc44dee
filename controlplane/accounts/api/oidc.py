"""Signing in at a provider: pages that a browser is led through, beside REST.

What fails leads to the studio's sign-in page with the code of the failure; its words are there, so
that nobody can put theirs on it by a link.
"""

import hmac
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth import login
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from controlplane.accounts import oidc, services
from controlplane.accounts.api.browsers import address_of, remember_browser
from controlplane.accounts.errors import IdentityRefused, SignInStale
from controlplane.accounts.models import User
from controlplane.accounts.providers import OidcProvider, RemoteUser
from controlplane.core import vault
from controlplane.core.errors import DomainError, NotFound

COOKIE: Final = "shoal_oidc"
COOKIE_S: Final = 600
PATH: Final = "/oidc/"
MOVED: Final = "moved"
ID_TOKEN: Final = "oidc_id_token"  # noqa: S105 - where a session keeps it, sealed
SEAL: Final = "oidc-id-token"
BACKEND: Final = "django.contrib.auth.backends.ModelBackend"


@require_GET
@never_cache
def begin(request: HttpRequest) -> HttpResponse:
    """``GET /oidc/login?next=/path``: to the provider, and a cookie of what must come back."""
    found = _provider()
    wanted = safe_next(request.GET.get("next", ""))
    if (
        request.get_host() != urlsplit(settings.SHOAL_PUBLIC_URL).netloc
        and MOVED not in request.GET
    ):
        # why: the provider leads back there, and a cookie of this host would not come along.
        # Once: a proxy may hide the name that the browser has, and browsers leave :443 out.
        query = urlencode({"next": wanted, MOVED: 1})
        return HttpResponseRedirect(f"{settings.SHOAL_PUBLIC_URL}{PATH}login?{query}")
    try:
        begun = oidc.begin(found, redirect_uri())
    except DomainError as error:
        return _back(error, wanted)
    response = HttpResponseRedirect(begun.url)
    response.set_cookie(
        COOKIE,
        signing.dumps({**asdict(begun), "url": "", "next": wanted}, salt=COOKIE),
        max_age=COOKIE_S,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


@require_GET
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """``GET /oidc/callback``: from the provider, with a code or an error."""
    found = _provider()
    wanted = "/"
    try:
        begun = _begun(request)
        wanted = safe_next(begun["next"])
        user, id_token = _user(request, found, begun)
    except DomainError as error:
        response = _back(error, wanted)
    else:
        login(request, user, backend=BACKEND)
        request.session[ID_TOKEN] = vault.seal(SEAL, id_token)
        request.session.set_expiry(found.session_s)
        request.session.save()
        remember_browser(request, user)
        response = HttpResponseRedirect(wanted)
    # A sign-in is tried once, whatever came of it.
    response.delete_cookie(COOKIE, path=PATH, samesite="Lax")
    return response


def logout_url(request: HttpRequest) -> str | None:
    """Where this browser, before its session ends, goes to sign out at the provider as well."""
    found: OidcProvider | None = settings.SHOAL_OIDC
    remote: RemoteUser | None = settings.SHOAL_REMOTE_USER
    if getattr(request.user, "sign_in", "") == User.SignIn.HEADER:
        return (remote.logout_url if remote else "") or None
    sealed = request.session.get(ID_TOKEN)
    if found is None or not found.logout or not sealed:
        return None
    try:
        id_token = vault.unseal(SEAL, sealed)
        return oidc.logout_url(found, id_token, f"{settings.SHOAL_PUBLIC_URL}/login")
    except (DomainError, vault.InvalidToken):
        return None  # signed out here; the log has why the provider could not be asked


def redirect_uri() -> str:
    """What the provider must have on its list."""
    return f"{settings.SHOAL_PUBLIC_URL}{PATH}callback"


def safe_next(value: str) -> str:
    """A place of this studio, else its first page."""
    local = value.startswith("/") and url_has_allowed_host_and_scheme(value, allowed_hosts=None)
    return value if local and not value.startswith(PATH) else "/"


def _provider() -> OidcProvider:
    found: OidcProvider | None = settings.SHOAL_OIDC
    if found is None:
        raise NotFound("No provider is set: SHOAL_OIDC_ISSUER.")
    return found


def _begun(request: HttpRequest) -> dict[str, Any]:
    """What this browser began. Raises SignInStale: no other can end it, nor this one twice."""
    try:
        begun = signing.loads(request.COOKIES.get(COOKIE, ""), salt=COOKIE, max_age=COOKIE_S)
    except signing.BadSignature as error:
        raise SignInStale("This browser has begun no sign-in, or it took too long.") from error
    if not hmac.compare_digest(begun["state"].encode(), request.GET.get("state", "").encode()):
        raise SignInStale("This answer of the provider belongs to another sign-in.", field="state")
    return dict(begun)


def _user(request: HttpRequest, found: OidcProvider, begun: dict[str, Any]) -> tuple[User, str]:
    address = address_of(request)
    attempt = services.attempt_begin_unnamed(address=address)
    try:
        claimed = _claimed(request, found, begun)
    except IdentityRefused as error:
        services.session_failed(
            username="unknown",
            by=User.SignIn.OIDC,
            address=address,
            code=error.code,
            reason=str(error.extra.get("reason", "")),
        )
        raise
    user = services.identity_sign_in(
        by=User.SignIn.OIDC,
        subject=claimed.subject,
        username=claimed.username,
        role=found.roles.role_of(claimed.groups),
        groups=claimed.groups,
        address=address,
    )
    services.attempt_withdraw(attempt)
    return user, claimed.id_token


def _claimed(request: HttpRequest, found: OidcProvider, begun: dict[str, Any]) -> oidc.Claimed:
    given = request.GET
    if given.get("iss", found.issuer) != found.issuer:
        raise IdentityRefused("Another provider answered.", extra={"reason": "iss"})
    if "code" not in given:
        reason = f"the provider says {given.get('error', 'nothing')[:64]!r}"
        raise IdentityRefused("The provider did not sign you in.", extra={"reason": reason})
    return oidc.finish(
        found,
        redirect_uri(),
        code=given["code"],
        nonce=begun["nonce"],
        code_verifier=begun["code_verifier"],
    )


def _back(error: DomainError, wanted: str) -> HttpResponse:
    query = {"error": error.code, **({"next": wanted} if wanted != "/" else {})}
    return HttpResponseRedirect(f"/login?{urlencode(query)}")
