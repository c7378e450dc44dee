"""Endpoint tokens: handed out, and made worthless before their time."""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from controlplane.core import events
from controlplane.deployments.errors import AuthModeMismatch
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.tokens import EndpointToken, token_now
from controlplane.deployments.types import AuthMode


def endpoint_token(*, name: str, actor: str, now: datetime) -> EndpointToken:
    """The token of now; handing it out is on record. Raises EndpointNotFound, AuthModeMismatch."""
    endpoint = endpoint_get(name)
    if endpoint.auth_mode != AuthMode.TOKEN:
        raise AuthModeMismatch(
            f"{name} is opened by keys, not by tokens.",
            hints=("Use its keys, or set auth_mode to aml_token.",),
        )
    token = token_of(endpoint, now)
    events.record(
        actor=actor,
        verb="endpoint.token_issued",
        subject=f"endpoint/{name}",
        message=f"{actor} got a token for {name}",
        data={"expires_at": token.expires_at.isoformat()},
    )
    return token


def token_of(endpoint: Endpoint, now: datetime) -> EndpointToken:
    return token_now(endpoint.name, born(endpoint), endpoint.token_epoch, now)


def born(endpoint: Endpoint) -> int:
    return int(endpoint.created_at.timestamp() * 1000)


@transaction.atomic
def endpoint_tokens_revoke(*, name: str, actor: str) -> None:
    """All tokens of before stop working as soon as gateways hear of it. Raises EndpointNotFound."""
    endpoint = endpoint_get(name)
    endpoint_generation_raise([endpoint.pk], token_epoch=F("token_epoch") + 1)
    events.record(
        actor=actor,
        verb="endpoint.tokens_revoked",
        subject=f"endpoint/{name}",
        message=f"{actor} made all tokens of {name} worthless",
    )
