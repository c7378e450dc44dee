"""OpenID Connect as Authlib speaks it: authorization code with PKCE, state and nonce.

Authlib (and requests, which it calls with) is imported by the first sign-in: no process pays for it
that has none.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from controlplane.accounts.errors import IdentityRefused, ProviderUnavailable
from controlplane.accounts.providers import OidcProvider

logger = logging.getLogger(__name__)

LEEWAY_S: Final = 60  # by which the provider's clock may differ from ours
TIMEOUT_S: Final = 10
METADATA_S: Final = 3600  # after which discovery and keys are asked for again
# What of the provider's metadata counts. Nothing else gets through: Authlib hands all of it on as
# options of its HTTP client.
KEPT: Final = (
    "issuer",
    "authorization_endpoint",
    "token_endpoint",
    "jwks_uri",
    "userinfo_endpoint",
    "end_session_endpoint",
)
NEEDED: Final = KEPT[:4]
SUBJECT_CHARS: Final = 512  # of the column


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in on its way: where the browser goes, and what it must bring back."""

    url: str
    state: str
    nonce: str
    code_verifier: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """Who somebody is, by a token that was checked."""

    subject: str  # issuer and the provider's own, never reused name; no person chooses it
    username: str
    groups: tuple[str, ...]
    id_token: str


def begin(provider: OidcProvider, redirect_uri: str) -> Begun:
    """Raises ProviderUnavailable."""
    with _told():
        found = _app(provider).create_authorization_url(redirect_uri)
    return Begun(found["url"], found["state"], found["nonce"], found["code_verifier"])


def finish(
    provider: OidcProvider, redirect_uri: str, *, code: str, nonce: str, code_verifier: str
) -> Claimed:
    """Redeems the code and checks the ID token. Raises ProviderUnavailable, IdentityRefused."""
    with _told():
        app = _app(provider)
        token = app.fetch_access_token(redirect_uri, code=code, code_verifier=code_verifier)
        claims = app.parse_id_token(
            token,
            nonce=nonce,
            claims_options={
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
                "sub": {"essential": True},
                "exp": {"essential": True},
            },
            leeway=LEEWAY_S,
        )
        if claims is None:
            raise IdentityRefused("The provider sent no ID token.", extra={"reason": "no id_token"})
        known = dict(claims)
        wanted = (provider.username_claim, provider.groups_claim)
        if any(_claim(known, name) is None for name in wanted):
            known = {**_userinfo(app, token, str(known["sub"])), **known}
    subject = f"{provider.issuer} {known['sub']}"
    if len(subject) > SUBJECT_CHARS:
        raise IdentityRefused("The provider's name for you is too long.", extra={"reason": "sub"})
    return Claimed(
        subject=subject,
        username=_username(provider, known),
        groups=_groups(_claim(known, provider.groups_claim)),
        id_token=str(token["id_token"]),
    )


def logout_url(provider: OidcProvider, id_token: str, back: str) -> str | None:
    """Where the browser signs out at the provider; None where the provider has no such page.

    Raises ProviderUnavailable.
    """
    with _told():
        app = _app(provider)
        if not app.server_metadata.get("end_session_endpoint"):
            return None
        found = app.create_logout_url(
            post_logout_redirect_uri=back, id_token_hint=id_token, client_id=provider.client_id
        )
    return str(found["url"])


def _app(provider: OidcProvider) -> Any:
    return _loaded(provider, int(time.time() // METADATA_S))


@lru_cache(maxsize=2)
def _loaded(provider: OidcProvider, hour: int) -> Any:
    """The client with the provider's metadata, checked; of one hour."""
    del hour
    from authlib.integrations.django_client import (  # noqa: PLC0415 - see above
        DjangoIntegration,
        DjangoOAuth2App,
    )

    app = DjangoOAuth2App(
        DjangoIntegration("oidc"),
        name="oidc",
        client_id=provider.client_id,
        client_secret=provider.client_secret or None,
        client_kwargs={
            "scope": " ".join(provider.scopes),
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_S,
            "verify": provider.ca_file or True,
        },
        server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
    )
    metadata = app.load_server_metadata()
    _check_metadata(provider, metadata)
    methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if provider.client_secret and "client_secret_basic" not in methods:
        app.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"  # noqa: S105 - a method
    app.server_metadata = {
        **{name: metadata[name] for name in KEPT if name in metadata},
        "id_token_signing_alg_values_supported": list(provider.algorithms),
        "_loaded_at": metadata["_loaded_at"],
    }
    return app


def _check_metadata(provider: OidcProvider, metadata: Mapping[str, Any]) -> None:
    if metadata.get("issuer") != provider.issuer:
        raise ProviderUnavailable(
            f"The provider calls itself {str(metadata.get('issuer'))[:200]!r}, "
            f"SHOAL_OIDC_ISSUER says {provider.issuer!r}."
        )
    secure = urlsplit(provider.issuer).scheme
    for name in KEPT[1:]:
        value = metadata.get(name)
        if value is None and name not in NEEDED:
            continue
        if not isinstance(value, str) or urlsplit(value).scheme not in {"https", secure}:
            raise ProviderUnavailable(
                f"The provider's {name} is {str(value)[:200]!r}, expected a URL with {secure}."
            )


@contextmanager
def _told() -> Iterator[None]:
    """What the libraries raise, in our words; what a token holds is in none of them."""
    import requests  # noqa: PLC0415 - as Authlib
    from authlib.common.errors import AuthlibBaseError  # noqa: PLC0415
    from joserfc.errors import JoseError  # noqa: PLC0415

    try:
        yield
    except JoseError as error:
        raise IdentityRefused(
            "The provider's ID token was not accepted.",
            extra={"reason": f"{error.error}: {error.description or ''}"[:200]},
        ) from error
    except AuthlibBaseError as error:
        raise IdentityRefused(
            "The provider did not redeem the code of this sign-in.",
            extra={"reason": str(error.error)[:200]},
        ) from error
    except requests.RequestException as error:
        logger.warning("The identity provider cannot be asked: %s", error)
        raise ProviderUnavailable("The provider cannot be asked.") from error
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
        # why so many: an answer of an unforeseen form fails wherever the library reads it
        logger.warning("The identity provider's answer cannot be read", exc_info=error)
        raise ProviderUnavailable("The provider's answer cannot be read.") from error


def _userinfo(app: Any, token: Any, subject: str) -> dict[str, Any]:
    """What the provider tells apart from the token; it must be of the same person."""
    if not app.server_metadata.get("userinfo_endpoint") or "access_token" not in token:
        return {}
    found = dict(app.userinfo(token=token))
    if found.get("sub") != subject:
        raise IdentityRefused(
            "The provider's userinfo is about somebody else.", extra={"reason": "userinfo sub"}
        )
    return found


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """By its whole name (which may be a URL), else by a path: ``realm_access.roles``."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for step in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(step)
    return found


def _username(provider: OidcProvider, claims: Mapping[str, Any]) -> str:
    name = _claim(claims, provider.username_claim)
    if not isinstance(name, str) or not name.strip():
        raise IdentityRefused(
            "The provider does not say what you are called here.",
            extra={"reason": f"no claim {provider.username_claim}"},
        )
    # why: whoever may write an unverified address there could take anybody's
    if provider.username_claim == "email" and claims.get("email_verified") is not True:
        raise IdentityRefused(
            "The provider has not verified your address.", extra={"reason": "email_verified"}
        )
    return name.strip()


def _groups(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(each for each in value if isinstance(each, str))
    return ()
