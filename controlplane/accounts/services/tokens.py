"""API tokens: made, noted when used, revoked."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts.errors import TokenNotFound
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.types import PREFIX_CHARS, token_hash, token_new
from controlplane.core import events

LAST_USED_RESOLUTION = timedelta(minutes=1)


@transaction.atomic
def token_create(
    *,
    user: User,
    name: str,
    actor: str,
    scopes: Sequence[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """The row, and the clear token, which is shown once and never kept.

    Without ``scopes`` it may do all that its user may; without ``expires_at`` it works until it
    is revoked.
    """
    clear = token_new()
    token = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=clear[:PREFIX_CHARS],
        token_hash=token_hash(clear),
        scopes=sorted(set(scopes or ())),
        expires_at=expires_at,
    )
    events.record(
        actor=actor,
        verb="token.created",
        subject=f"user/{user.username}",
        message=f"API token {name!r} created",
        data={
            "token_id": token.pk,
            "prefix": token.prefix,
            "scopes": token.scopes,
            "expires_at": expires_at.isoformat() if expires_at else None,
        },
    )
    return token, clear


@transaction.atomic
def token_delete(*, user: User, token_id: int, actor: str) -> None:
    """Revoke one of ``user``'s tokens, at once. Raises TokenNotFound."""
    token = ApiToken.objects.filter(user=user, pk=token_id).first()
    if token is None:
        raise TokenNotFound("No such token.")
    token.delete()
    events.record(
        actor=actor,
        verb="token.deleted",
        subject=f"user/{user.username}",
        message=f"API token {token.name!r} revoked",
        data={"token_id": token_id, "prefix": token.prefix},
    )


def token_touch(token: ApiToken) -> None:
    """Note the use, at most once a minute: an audit aid must not cost a write per request."""
    now = timezone.now()
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USED_RESOLUTION)
    if token.last_used_at is None or token.last_used_at < now - LAST_USED_RESOLUTION:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


@transaction.atomic
def token_replace(*, user: User, name: str, actor: str) -> str:
    """A fresh token called ``name``; older ones of that name stop working."""
    ApiToken.objects.filter(user=user, name=name).delete()
    _, clear = token_create(user=user, name=name, actor=actor)
    return clear
