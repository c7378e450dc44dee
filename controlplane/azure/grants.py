"""Addresses that let who has them send one folder, for an hour: a client that was given one sends
no token with it. They hold as long as the token that asked for them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from django.core import signing
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts.models import ApiToken
from controlplane.accounts.selectors import token_get
from controlplane.accounts.types import TOKEN_PREFIX
from controlplane.core.borrowed import give_back

LIFE: Final = timedelta(hours=1)
_SALT: Final = "controlplane.azure.grants"


def grant(token: ApiToken, place: str) -> str:
    return signing.dumps([token.pk, place], salt=_SALT)


def granted(signature: str, place: str) -> ApiToken | None:
    """The token that asked for this address; None where it is forged, for another place, too old,
    or where that token counts no more."""
    try:
        key, found = signing.loads(signature, salt=_SALT, max_age=LIFE)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    if found != place:
        return None
    alive = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return (
        ApiToken.objects.select_related("user").filter(alive, pk=key, user__is_active=True).first()
    )


async def may_send(scope: Mapping[str, Any]) -> bool:
    """Whether a request comes with a token or an address of ours: asked before its body, which is
    as large as nowhere else, is taken in. What it may do the view finds out."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    token = headers.get(b"authorization", "").partition(" ")[2].strip()
    signature = parse_qs(scope["query_string"].decode("latin-1")).get("sig", [""])[0]
    container = "".join(scope["path"].split("/")[5:6])  # /azureml/blobs/workspace/store/container
    return bool(await sync_to_async(_proves)(token, signature, container))


def _proves(token: str, signature: str, container: str) -> bool:
    try:
        if token:
            return token.startswith(TOKEN_PREFIX) and token_get(token) is not None
        return granted(signature, container) is not None
    finally:
        give_back()
