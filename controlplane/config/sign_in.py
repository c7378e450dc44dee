"""How people sign in, from the environment: the provider, and whether passwords count."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from controlplane.accounts.providers import (
    ALGORITHMS,
    OidcProvider,
    RemoteUser,
    role_rules_read,
    roles_read,
)
from controlplane.config import env

HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
# What is somebody else's business, or would be replaced on its way.
NO_HEADERS = ("authorization", "cookie", "host", "x-forwarded-for", "x-forwarded-proto", "origin")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def oidc() -> OidcProvider | None:
    """The provider of SHOAL_OIDC_ISSUER; None where it is unset or empty."""
    issuer = env.text("SHOAL_OIDC_ISSUER", "").strip()
    if not issuer:
        return None
    parts = urlsplit(issuer)
    plain = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or plain):
        raise ImproperlyConfigured(f"SHOAL_OIDC_ISSUER={issuer!r}: expected https://host/path")
    client_id = env.text("SHOAL_OIDC_CLIENT_ID", "").strip()
    if not client_id:
        raise ImproperlyConfigured("SHOAL_OIDC_CLIENT_ID is missing: the provider gave you one")
    roles = env.parsed("SHOAL_OIDC_ROLES", "", role_rules_read)
    if not roles.rules:
        raise ImproperlyConfigured(
            "SHOAL_OIDC_ROLES is missing: GROUP=role;…, for instance shoal-admins=admin;*=viewer"
        )
    return OidcProvider(
        issuer=issuer,
        client_id=client_id,
        client_secret=env.optional_secret("SHOAL_OIDC_CLIENT_SECRET", least=1),
        name=env.text("SHOAL_OIDC_NAME", "").strip() or "single sign-on",
        roles=roles,
        scopes=_scopes(),
        username_claim=env.text("SHOAL_OIDC_USERNAME_CLAIM", "") or "preferred_username",
        groups_claim=env.text("SHOAL_OIDC_GROUPS_CLAIM", "") or "groups",
        algorithms=_algorithms(),
        ca_file=_file("SHOAL_OIDC_CA_FILE"),
        session_s=env.integer("SHOAL_OIDC_SESSION_S", 12 * 3600, least=60),
        logout=env.flag("SHOAL_OIDC_LOGOUT", default=True),
    )


def remote_user() -> RemoteUser | None:
    """The headers of SHOAL_REMOTE_USER_HEADER; None where it is unset or empty."""
    user_header = _header("SHOAL_REMOTE_USER_HEADER", "")
    if not user_header:
        return None
    roles = env.parsed("SHOAL_REMOTE_ROLES", "", role_rules_read)
    if not roles.rules:
        raise ImproperlyConfigured(
            "SHOAL_REMOTE_ROLES is missing: GROUP=role;…, for instance shoal-admins=admin;*=viewer"
        )
    return RemoteUser(
        user_header=user_header,
        groups_header=_header("SHOAL_REMOTE_GROUPS_HEADER", ""),
        roles=roles,
        separator=env.text("SHOAL_REMOTE_GROUPS_SEPARATOR", "") or ",",
        secret=env.optional_secret("SHOAL_REMOTE_SECRET", least=16),
        secret_header=_header("SHOAL_REMOTE_SECRET_HEADER", "X-Shoal-Proxy-Secret"),
        logout_url=env.https("SHOAL_REMOTE_LOGOUT_URL"),
    )


def _header(name: str, default: str) -> str:
    value = env.text(name, "").strip() or default
    if value and (not HEADER.fullmatch(value) or value.lower() in NO_HEADERS):
        raise ImproperlyConfigured(
            f"{name}={value!r}: expected the name of a header of its own, as X-Forwarded-User"
        )
    return value


def passwords(*, others: bool) -> bool:
    """Whether people sign in by password; ``others``: there is another way.

    Raises ImproperlyConfigured where nobody could sign in.
    """
    allowed = env.flag("SHOAL_PASSWORDS", default=True)
    if not allowed and not others:
        raise ImproperlyConfigured(
            "SHOAL_PASSWORDS=false, and there is no other way to sign in: set SHOAL_OIDC_ISSUER "
            "or SHOAL_REMOTE_USER_HEADER"
        )
    return allowed


def second_factor_roles() -> tuple[str, ...]:
    """The roles of SHOAL_SECOND_FACTOR_ROLES; none where it is unset or empty."""
    return env.parsed("SHOAL_SECOND_FACTOR_ROLES", "", roles_read)


def _scopes() -> tuple[str, ...]:
    found = tuple(env.text("SHOAL_OIDC_SCOPES", "").split()) or ("openid", "profile", "email")
    if "openid" not in found:
        raise ImproperlyConfigured(f"SHOAL_OIDC_SCOPES={' '.join(found)!r}: expected openid in it")
    return found


def _algorithms() -> tuple[str, ...]:
    found = tuple(env.text("SHOAL_OIDC_ALGORITHMS", "").replace(",", " ").split())
    for name in found:
        if name not in ALGORITHMS:
            raise ImproperlyConfigured(
                f"SHOAL_OIDC_ALGORITHMS={name!r}: expected some of {', '.join(ALGORITHMS)}"
            )
    return found or ("RS256", "PS256", "ES256", "EdDSA")


def _file(name: str) -> str:
    value = env.text(name, "")
    if value and not Path(value).is_file():
        raise ImproperlyConfigured(f"{name}={value!r}: expected a file in PEM")
    return value
