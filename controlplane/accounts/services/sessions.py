"""Sessions: a throttled check of passwords, who is signed in by a browser, and signing out."""

from collections.abc import Iterable
from contextlib import nullcontext
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.errors import BadCredentials, PasswordsOff, SessionNotFound, SignInBusy
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
NAME_SHOWN = 150  # of what somebody typed for a name
REASON_SHOWN = 500


def session_open(*, username: str, password: str, address: str) -> User:
    """The user, when the password is right. Raises BadCredentials, PasswordsOff,
    TooManyAttempts, SignInBusy.

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
        session_failed(
            username=username, by=User.SignIn.PASSWORD, address=address, code=BadCredentials.code
        )
        raise BadCredentials("The user name or the password is wrong.")
    if not password_counts(user):
        # why only now: whose password counts is told to nobody who does not know it
        by = User.SignIn.PASSWORD
        session_failed(username=username, by=by, address=address, code=PasswordsOff.code)
        raise PasswordsOff("This installation takes no passwords.")
    with transaction.atomic():
        attempt_succeed(attempt)
        session_opened(user=user, by=User.SignIn(user.sign_in), address=address)
    return user


def password_counts(user: User) -> bool:
    """Whether this account signs in by its password here."""
    if user.sign_in == User.SignIn.BREAK_GLASS:
        return True
    return user.sign_in == User.SignIn.PASSWORD and settings.SHOAL_PASSWORDS


def session_opened(*, user: User, by: User.SignIn, address: str) -> None:
    """Put a sign-in on record, in the caller's transaction."""
    glass = by is User.SignIn.BREAK_GLASS
    events.record(
        actor=user.username,
        verb="session.opened",
        subject=f"user/{user.username}",
        message=f"{user.username} signed in by {by.label}",
        severity=Event.Severity.WARNING if glass else Event.Severity.INFO,
        data={"address": address, "by": by.value},
    )


@transaction.atomic
def session_failed(
    *, username: str, by: User.SignIn, address: str, code: str, reason: str = ""
) -> None:
    """Put a refused sign-in on record; the request fails, this stays.

    ``reason`` is what only administrators are told. Name and reason may be of a stranger's making.
    """
    name, reason = _printable(username)[:NAME_SHOWN], _printable(reason)[:REASON_SHOWN]
    events.record(
        actor=name,
        verb="session.failed",
        subject=f"user/{name}",
        message=f"Sign-in as {name} by {by.label} failed: {code}",
        severity=Event.Severity.WARNING,
        data={
            "address": address,
            "by": by.value,
            "code": code,
            **({"reason": reason} if reason else {}),
        },
    )


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


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
