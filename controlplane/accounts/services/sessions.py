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

from controlplane.accounts import second_factor, selectors
from controlplane.accounts.errors import (
    BadCredentials,
    CodeNeeded,
    CodeWrong,
    PasswordsOff,
    SecondFactorUnreadable,
    SessionNotFound,
    SignInBusy,
)
from controlplane.accounts.hashing import STRANGERS
from controlplane.accounts.models import BrowserSession, SecondFactor, User
from controlplane.accounts.second_factor import Factor
from controlplane.accounts.services.sign_in_throttle import (
    Attempt,
    attempt_begin,
    attempt_succeed,
    attempt_withdraw,
)
from controlplane.core import events, vault
from controlplane.core.models import Event

LAST_SEEN_RESOLUTION = timedelta(minutes=1)
SECRETS = "second-factors"
NAME_SHOWN = 150  # of what somebody typed for a name
REASON_SHOWN = 500


def session_open(*, username: str, password: str, address: str, code: str = "") -> User:
    """The user, when the password is right, and the code where the account has a second factor.

    Both come in one request: between two there would be a browser that is signed in by half.
    Raises BadCredentials, PasswordsOff, CodeNeeded, CodeWrong, TooManyAttempts, SignInBusy.

    Names that nobody has cost the same time, and count alike.
    """
    attempt = attempt_begin(username=username, address=address)
    user = _proved(attempt, username=username, password=password, address=address)
    by, second = User.SignIn(user.sign_in), ""
    if selectors.has_second_factor(user):
        if not code:
            attempt_withdraw(attempt)  # it is asked for: nothing was guessed
            raise CodeNeeded("This account has a second factor.", field="code")
        try:
            second = code_take(user, code)
        except CodeWrong as error:
            session_failed(username=username, by=by, address=address, code=error.code)
            raise
    with transaction.atomic():
        attempt_succeed(attempt)
        session_opened(user=user, by=by, address=address, second=second)
    return user


def password_confirm(*, user: User, password: str, address: str, counts: bool = False) -> Attempt:
    """Who is signed in says the password once more. ``counts``: a code is still to come, and the
    attempt counts until then.

    Failures of before are not forgiven: else whoever knows the password could guess codes without
    an end.

    Raises BadCredentials, PasswordsOff, TooManyAttempts, SignInBusy.
    """
    attempt = attempt_begin(username=user.username, address=address)
    _proved(attempt, username=user.username, password=password, address=address)
    if not counts:
        attempt_withdraw(attempt)
    return attempt


def _proved(attempt: Attempt, *, username: str, password: str, address: str) -> User:
    """Whose password it is, and counts; else the attempt counts."""
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
    return user


@transaction.atomic
def code_take(user: User, code: str) -> str:
    """Use up a code of this account; by what it was: ``totp`` or ``recovery``.

    The row is locked meanwhile: of two that bring one code at once, one is refused. Raises
    CodeWrong.
    """
    row = SecondFactor.objects.select_for_update().get(user=user)
    factor = Factor(secret_unseal(row), row.last_step, tuple(row.recovery))
    now_s = timezone.now().timestamp()
    found = second_factor.accepted(factor, code, now_s, recovery_key())
    if found is None:
        raise CodeWrong("This code is wrong, or was used already.", field="code")
    factor_write(row, found.factor)
    if found.by == "recovery":
        left = len(found.factor.recovery)
        events.record(
            actor=user.username,
            verb="user.recovery_code_used",
            subject=f"user/{user.username}",
            message=f"A recovery code of {user.username} was used; {left} are left",
            severity=Event.Severity.WARNING,
        )
    return found.by


def factor_write(row: SecondFactor, factor: Factor) -> None:
    row.last_step, row.recovery = factor.last_step, list(factor.recovery)
    row.save(update_fields=["last_step", "recovery"])


def secret_seal(secret: bytes) -> str:
    return vault.seal(SECRETS, secret.hex())


def secret_unseal(row: SecondFactor) -> bytes:
    """Raises SecondFactorUnreadable."""
    try:
        return bytes.fromhex(vault.unseal(SECRETS, row.sealed_secret))
    except vault.InvalidToken as error:
        raise SecondFactorUnreadable(
            "The second factors were sealed with another SHOAL_SECRET_KEY."
        ) from error


def recovery_key() -> bytes:
    return vault.derived("recovery-codes")


def password_counts(user: User) -> bool:
    """Whether this account signs in by its password here."""
    if user.sign_in == User.SignIn.BREAK_GLASS:
        return True
    return user.sign_in == User.SignIn.PASSWORD and settings.SHOAL_PASSWORDS


def session_opened(*, user: User, by: User.SignIn, address: str, second: str = "") -> None:
    """Put a sign-in on record, in the caller's transaction. ``second``: by what beside that."""
    glass = by is User.SignIn.BREAK_GLASS
    events.record(
        actor=user.username,
        verb="session.opened",
        subject=f"user/{user.username}",
        message=f"{user.username} signed in by {by.label}",
        severity=Event.Severity.WARNING if glass else Event.Severity.INFO,
        data={"address": address, "by": by.value, **({"second": second} if second else {})},
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
