"""What is noted of the browser that signs in."""

from django.http import HttpRequest

from controlplane.accounts import services
from controlplane.accounts.models import User


def address_of(request: HttpRequest) -> str:
    """Whom we take for the caller, behind trusted proxies as well."""
    return str(request.META.get("REMOTE_ADDR") or "")


def remember_browser(request: HttpRequest, user: User) -> None:
    services.session_begin(
        user=user,
        session_key=request.session.session_key or "",
        address=address_of(request),
        agent=request.headers.get("User-Agent", ""),
    )
