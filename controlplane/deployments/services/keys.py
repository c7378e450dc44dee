"""Endpoint keys: two slots, hashed for gateways, sealed for the audited reveal."""

import hashlib
import secrets
from typing import Any

from django.db import transaction
from django.utils import timezone

from controlplane.core import events, vault
from controlplane.core.errors import Unavailable
from controlplane.deployments.errors import AuthModeMismatch
from controlplane.deployments.models import Endpoint, EndpointKey
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.services.tokens import token_of
from controlplane.deployments.types import AuthMode

PURPOSE = "shoal endpoint keys"
KEY_BYTES = 32
PREFIX_CHARS = 8


def _parts(clear: str) -> dict[str, Any]:
    return {
        "sha256": hashlib.sha256(clear.encode()).hexdigest(),
        "sealed": vault.seal(PURPOSE, clear),
        "prefix": clear[:PREFIX_CHARS],
    }


def keys_create(endpoint: Endpoint) -> None:
    """Fresh keys in both slots, so that one can be replaced while the other works."""
    EndpointKey.objects.bulk_create(
        EndpointKey(endpoint=endpoint, slot=slot, **_parts(secrets.token_hex(KEY_BYTES)))
        for slot in EndpointKey.Slot
    )


def _clear_keys(endpoint: Endpoint) -> dict[str, str]:
    """Slot -> key. Raises Unavailable when the installation's secret is not the one of before."""
    try:
        return {key.slot: vault.unseal(PURPOSE, key.sealed) for key in endpoint.keys.all()}
    except vault.InvalidToken as error:
        raise Unavailable(
            "The keys cannot be shown: the installation's secret key has changed.",
            code="KeysSealed",
            hints=("They still work. Regenerate them to see them again.",),
        ) from error


@transaction.atomic
def endpoint_keys_reveal(*, name: str, actor: str) -> dict[str, str]:
    """Slot -> clear key; every reveal is on record. Raises EndpointNotFound, Unavailable."""
    endpoint = endpoint_get(name)
    if endpoint.auth_mode == AuthMode.TOKEN:
        raise AuthModeMismatch(
            f"{name} is opened by tokens, not by keys.",
            hints=("Ask for a token, or set auth_mode to key.",),
        )
    keys = _clear_keys(endpoint)
    events.record(
        actor=actor,
        verb="endpoint.keys_revealed",
        subject=f"endpoint/{name}",
        message=f"{actor} looked at the keys of {name}",
    )
    return keys


@transaction.atomic
def endpoint_key_regenerate(*, name: str, slot: str, actor: str) -> dict[str, str]:
    """A new key in one slot; the other keeps working. Returns slot -> clear key of both.

    Raises EndpointNotFound, Unavailable.
    """
    endpoint = endpoint_get(name)
    clear = secrets.token_hex(KEY_BYTES)
    EndpointKey.objects.filter(endpoint=endpoint, slot=slot).update(**_parts(clear))
    endpoint_generation_raise([endpoint.pk])
    events.record(
        actor=actor,
        verb="endpoint.key_regenerated",
        subject=f"endpoint/{name}",
        message=f"{actor} replaced the {slot} key of {name}",
        data={"slot": slot, "prefix": clear[:PREFIX_CHARS]},
    )
    return _clear_keys(endpoint_get(name))


def endpoint_key_use(*, name: str) -> str:
    """The primary key, for a call of the studio's own; nobody sees it, so nothing is on record.

    Raises EndpointNotFound, Unavailable.
    """
    endpoint = endpoint_get(name)
    if endpoint.auth_mode == AuthMode.TOKEN:
        return token_of(endpoint, timezone.now()).clear
    return _clear_keys(endpoint)[EndpointKey.Slot.PRIMARY]
