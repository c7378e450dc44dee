"""API tokens: made, noted when used, revoked."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts.errors import TokenNotFound, TooManyAttempts
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.services.sign_in_throttle import attempt_begin_alone
from controlplane.accounts.types import PREFIX_CHARS, TOKEN_PREFIX, token_hash, token_new
from controlplane.core import events
from controlplane.core.models import Event

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


def token_refused(clear: str, *, address: str) -> None:
    """Put a token that was good once on record; what never was one is anybody's noise.

    As rarely as wrong passwords: a program that goes on with it writes a dozen events an hour.
    """
    if not clear.startswith(TOKEN_PREFIX):
        return
    token = ApiToken.objects.select_related("user").filter(token_hash=token_hash(clear)).first()
    if token is None:
        return
    try:
        attempt_begin_alone(name=f"token {token.pk}", address=address)
    except TooManyAttempts:
        return
    reason = "the account is deactivated"
    if token.user.is_active and token.expires_at is not None:
        reason = f"it ended {token.expires_at.isoformat(timespec='seconds')}"
    username = token.user.username
    with transaction.atomic():
        events.record(
            actor=username,
            verb="token.refused",
            subject=f"user/{username}",
            message=f"API token {token.name!r} of {username} was refused: {reason}",
            severity=Event.Severity.WARNING,
            data={"address": address, "by": "token", "prefix": token.prefix, "reason": reason},
        )


@transaction.atomic
def token_replace(*, user: User, name: str, actor: str) -> str:
    """A fresh token called ``name``; older ones of that name stop working."""
    ApiToken.objects.filter(user=user, name=name).delete()
    _, clear = token_create(user=user, name=name, actor=actor)
    return clear
