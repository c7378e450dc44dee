"""Writes of accounts: sessions opened and refused, tokens, and the first administrator."""

import secrets
from datetime import timedelta

from django.contrib.auth import authenticate
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts import selectors
from controlplane.accounts.errors import BadCredentials, TokenNotFound, TooManyAttempts
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.types import PREFIX_CHARS, token_hash, token_new
from controlplane.core import events
from controlplane.core.models import Event

LAST_USED_RESOLUTION = timedelta(minutes=1)


def session_open(*, username: str, password: str, address: str) -> User:
    """The user, when the password is right. Raises BadCredentials, TooManyAttempts (back-off)."""
    wait_s = selectors.login_wait_s(username=username, address=address, now=timezone.now())
    if wait_s:
        raise TooManyAttempts(
            f"Too many wrong passwords. Try again in {wait_s} s.",
            extra={"retry_after_s": wait_s},
        )
    user = authenticate(username=username, password=password)
    if not isinstance(user, User):
        # why its own transaction: the failure must stay on record although the request fails
        with transaction.atomic():
            events.record(
                actor=username,
                verb=selectors.FAILED_VERB,
                subject=f"user/{username}",
                message=f"Sign-in as {username} failed",
                severity=Event.Severity.WARNING,
                data={"address": address},
            )
        raise BadCredentials("The user name or the password is wrong.")
    with transaction.atomic():
        events.record(
            actor=user.username,
            verb=selectors.OPENED_VERB,
            subject=f"user/{user.username}",
            message=f"{user.username} signed in",
            data={"address": address},
        )
    return user


@transaction.atomic
def token_create(*, user: User, name: str, actor: str) -> tuple[ApiToken, str]:
    """The row, and the clear token, which is shown once and never kept."""
    clear = token_new()
    token = ApiToken.objects.create(
        user=user, name=name, prefix=clear[:PREFIX_CHARS], token_hash=token_hash(clear)
    )
    events.record(
        actor=actor,
        verb="token.created",
        subject=f"user/{user.username}",
        message=f"API token {name!r} created",
        data={"token_id": token.pk, "prefix": token.prefix},
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
def administrator_ensure(*, username: str) -> tuple[User, str | None]:
    """The administrator, and the generated password when this call made the account."""
    existing = User.objects.filter(role=User.Role.ADMIN, is_active=True).order_by("pk").first()
    if existing is not None:
        return existing, None
    password = secrets.token_urlsafe(15)
    user = User.objects.create_user(username=username, password=password, role=User.Role.ADMIN)
    events.record(
        actor="system",
        verb="user.created",
        subject=f"user/{username}",
        message=f"First administrator {username} created",
    )
    return user, password


@transaction.atomic
def token_replace(*, user: User, name: str, actor: str) -> str:
    """A fresh token called ``name``; older ones of that name stop working."""
    ApiToken.objects.filter(user=user, name=name).delete()
    _, clear = token_create(user=user, name=name, actor=actor)
    return clear
