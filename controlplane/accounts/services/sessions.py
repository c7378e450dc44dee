"""Sessions: a throttled check of passwords, who is signed in by a browser, and signing out."""

from collections.abc import Iterable
from contextlib import nullcontext
from datetime import timedelta

from django.contrib.auth import authenticate
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.errors import BadCredentials, SessionNotFound, SignInBusy
from controlplane.accounts.hashing import STRANGERS
from controlplane.accounts.models import BrowserSession, User
from controlplane.accounts.services.sign_in_throttle import (
    attempt_begin,
    attempt_succeed,
    attempt_withdraw,
)
from controlplane.core import events
from controlplane.core.models import Event

LAST_SEEN_RESOLUTION = timedelta(minutes=1)


def session_open(*, username: str, password: str, address: str) -> User:
    """The user, when the password is right. Raises BadCredentials, TooManyAttempts, SignInBusy.

    Names that nobody has cost the same time, and count alike.
    """
    attempt = attempt_begin(username=username, address=address)
    try:
        with nullcontext() if attempt.known else STRANGERS.turn():
            user = authenticate(username=username, password=password)
    except SignInBusy:
        attempt_withdraw(attempt)
        raise
    if not isinstance(user, User):
        # why its own transaction: the failure must stay on record although the request fails
        with transaction.atomic():
            events.record(
                actor=username,
                verb="session.failed",
                subject=f"user/{username}",
                message=f"Sign-in as {username} failed",
                severity=Event.Severity.WARNING,
                data={"address": address},
            )
        raise BadCredentials("The user name or the password is wrong.")
    with transaction.atomic():
        attempt_succeed(attempt)
        events.record(
            actor=user.username,
            verb="session.opened",
            subject=f"user/{user.username}",
            message=f"{user.username} signed in",
            data={"address": address},
        )
    return user


def session_begin(*, user: User, session_key: str, address: str, agent: str) -> None:
    """Note which browser this session belongs to, so that its user can find it, and end it."""
    BrowserSession.objects.update_or_create(
        session_key=session_key,
        defaults={
            "user": user,
            "address": address[:64],
            "agent": agent[:255],
            "last_seen_at": timezone.now(),
        },
    )


def session_touch(session_key: str) -> None:
    """Note the use, at most once a minute."""
    now = timezone.now()
    rows = BrowserSession.objects.filter(session_key=session_key)
    rows.filter(last_seen_at__lt=now - LAST_SEEN_RESOLUTION).update(last_seen_at=now)


def session_end(session_key: str) -> None:
    BrowserSession.objects.filter(session_key=session_key).delete()


@transaction.atomic
def session_revoke(*, user: User, session_id: int, actor: str) -> None:
    """Sign a browser of ``user`` out. Raises SessionNotFound."""
    row = BrowserSession.objects.filter(user=user, pk=session_id).first()
    if row is None:
        raise SessionNotFound("No such session.")
    _end([row])
    events.record(
        actor=actor,
        verb="session.revoked",
        subject=f"user/{user.username}",
        message=f"A session of {user.username} from {row.address} was ended",
        data={"session_id": session_id, "address": row.address},
    )


def sessions_end_all(*, user: User) -> int:
    """Sign all browsers of ``user`` out. Returns how many."""
    rows = list(BrowserSession.objects.filter(user=user))
    _end(rows)
    return len(rows)


def _end(rows: Iterable[BrowserSession]) -> None:
    for row in rows:
        SessionStore(row.session_key).delete()
        row.delete()


def sessions_prune() -> int:
    """Forget sessions that have run out. Returns how many."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    alive = Session.objects.values("session_key")
    return BrowserSession.objects.exclude(session_key__in=alive).delete()[0]
