"""Addresses that let who has them send one folder, for an hour: a client that was given one sends
no token with it. They hold as long as the token that asked for them."""

from datetime import timedelta
from typing import Final

from django.core import signing
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts.models import ApiToken

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
