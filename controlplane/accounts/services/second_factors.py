"""Writes of second factors: begun, confirmed, used, taken away. Each is on record."""

import io
from dataclasses import dataclass

import segno
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.accounts import second_factor, selectors
from controlplane.accounts.errors import (
    CodeWrong,
    OwnSecondFactor,
    SecondFactorNotBegun,
    SecondFactorOff,
    SecondFactorOn,
    SignsInElsewhere,
)
from controlplane.accounts.models import SecondFactor, User
from controlplane.accounts.second_factor import Factor
from controlplane.accounts.services.sessions import (
    code_take,
    factor_write,
    password_confirm,
    recovery_key,
    secret_seal,
    secret_unseal,
    session_failed,
    sessions_end_all,
)
from controlplane.accounts.services.sign_in_throttle import (
    attempt_begin,
    attempt_succeed,
    attempt_withdraw,
)
from controlplane.core import events
from controlplane.core.models import Event


@dataclass(frozen=True, slots=True)
class Begun:
    """What is shown once: for an app to read, and for people to type."""

    secret: str
    uri: str
    qr_svg: str


def second_factor_begin(*, user: User, password: str, address: str) -> Begun:
    """A fresh secret, which counts for nothing before a code of it came.

    Raises SignsInElsewhere, SecondFactorOn, BadCredentials, TooManyAttempts, SignInBusy.
    """
    if not second_factor.applies(user):
        raise SignsInElsewhere(f"{user.username} signs in by {user.sign_in}, which asks by itself.")
    password_confirm(user=user, password=password, address=address)
    secret = second_factor.secret_new()
    with transaction.atomic():
        row = SecondFactor.objects.select_for_update().filter(user=user).first()
        if row is not None and row.confirmed_at is not None:
            raise SecondFactorOn(f"{user.username} has a second factor.")
        SecondFactor.objects.update_or_create(
            user=user,
            defaults={
                "sealed_secret": secret_seal(secret),
                "last_step": second_factor.NEVER,
                "recovery": [],
                "begun_at": timezone.now(),
            },
        )
    uri = second_factor.uri(secret, username=user.username, issuer=_issuer())
    picture = io.BytesIO()
    # why with its namespace: a page that has it as an image would not draw it otherwise
    segno.make(uri, error="m").save(picture, kind="svg", xmldecl=False, scale=4, light="#fff")
    qr = picture.getvalue().decode()
    return Begun(second_factor.secret_text(secret), uri, qr)


def second_factor_confirm(*, user: User, code: str, address: str) -> list[str]:
    """The app has the secret: a code is asked for from now on. Returns the recovery codes.

    All browsers are signed out, the caller signs this one in again. Raises SecondFactorNotBegun,
    SecondFactorOn, CodeWrong, TooManyAttempts.
    """
    attempt = attempt_begin(username=user.username, address=address)
    with transaction.atomic():
        row = SecondFactor.objects.select_for_update().filter(user=user).first()
        if row is not None and row.confirmed_at is not None:
            raise SecondFactorOn(f"{user.username} has a second factor.")
        now = timezone.now()
        if row is None or now - row.begun_at > second_factor.BEGUN_FOR:
            raise SecondFactorNotBegun("No secret was shown in the last ten minutes.")
        key = recovery_key()
        found = second_factor.accepted(
            Factor(secret_unseal(row), row.last_step), code, now.timestamp(), key
        )
        if found is None:
            raise CodeWrong("This is not the code that the app shows now.", field="code")
        clear, digests = second_factor.recovery_new(key)
        factor_write(row, Factor(found.factor.secret, found.factor.last_step, digests))
        row.confirmed_at = now
        row.save(update_fields=["confirmed_at"])
        attempt_withdraw(attempt)
        sessions_end_all(user=user)
        _record(user, "user.second_factor_on", f"{user.username} set up a second factor")
    return clear


def second_factor_disable(*, user: User, password: str, code: str, address: str) -> None:
    """One's own, by password and a code of it (a recovery code as well).

    Raises SecondFactorOff, BadCredentials, CodeWrong, TooManyAttempts, SignInBusy.
    """
    if not selectors.has_second_factor(user):
        raise SecondFactorOff(f"{user.username} has no second factor.")
    attempt = password_confirm(user=user, password=password, address=address, counts=True)
    try:
        code_take(user, code)
    except CodeWrong as error:
        by = User.SignIn(user.sign_in)
        session_failed(username=user.username, by=by, address=address, code=error.code)
        raise
    with transaction.atomic():
        attempt_succeed(attempt)
        SecondFactor.objects.filter(user=user).delete()
        message = f"{user.username} took the second factor away"
        _record(user, "user.second_factor_off", message, warning=True)


@transaction.atomic
def second_factor_reset(*, username: str, actor: str) -> None:
    """An administrator's way, for somebody whose app and recovery codes are gone; the sessions of
    that user end. Not for one's own: that takes password and code.

    Raises UserNotFound, OwnSecondFactor, SecondFactorOff.
    """
    user = selectors.user_get(username)
    if username == actor:
        raise OwnSecondFactor("Nobody resets their own second factor.")
    if not SecondFactor.objects.filter(user=user).delete()[0]:
        raise SecondFactorOff(f"{username} has no second factor.")
    sessions_end_all(user=user)
    message = f"{actor} reset the second factor of {username}"
    _record(user, "user.second_factor_reset", message, actor=actor, warning=True)


def _issuer() -> str:
    """What apps show beside the code, where somebody has accounts of several installations."""
    host = settings.SHOAL_PUBLIC_URL.partition("://")[2].partition("/")[0]
    return f"Shoal {host}".replace(":", " ")  # a colon parts issuer and name


def _record(
    user: User, verb: str, message: str, *, actor: str | None = None, warning: bool = False
) -> None:
    events.record(
        actor=actor or user.username,
        verb=verb,
        subject=f"user/{user.username}",
        message=message,
        severity=Event.Severity.WARNING if warning else Event.Severity.INFO,
    )
