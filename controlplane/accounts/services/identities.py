"""People whom somebody else vouches for: found or made, with the role that their groups give."""

from collections.abc import Iterable
from typing import NoReturn

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.accounts.errors import (
    AccountDisabled,
    AccountIsLocal,
    IdentityRefused,
    NoRole,
    RemoteUserRefused,
)
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.services.sessions import session_failed, session_opened, sessions_end_all
from controlplane.accounts.services.sign_in_throttle import attempt_begin_alone
from controlplane.core import events
from controlplane.core.errors import DomainError
from controlplane.core.models import Event

NAME_CHARS = 150
NO_PROXY = "/remote-user"  # nobody can be called this


def identity_sign_in(
    *,
    by: User.SignIn,
    subject: str,
    username: str,
    role: str | None,
    groups: Iterable[str],
    address: str,
) -> User:
    """The account of ``subject``, made at its first sign-in, with ``role`` from now on.

    An account is found by who vouches and that one's own name for it, never by what it is called
    here: else whoever calls themselves ``admin`` there would be the ``admin`` of here. Without a
    role, what the account still has (sessions, tokens) ends.

    Raises NoRole, AccountDisabled, AccountIsLocal, IdentityRefused.
    """
    try:
        with transaction.atomic():
            user = _account(by=by, subject=subject, username=username, role=role)
            if user is not None and user.is_active and role is not None:
                _role_follow(user, role, by=by)
                session_opened(user=user, by=by, address=address)
                return user
    except DomainError as error:
        _refuse(error, by=by, username=username, address=address)
    if user is not None and not user.is_active:
        disabled = AccountDisabled(f"The account {user.username} is deactivated.")
        _refuse(disabled, by=by, username=user.username, address=address)
    if user is not None:
        _access_end(user, by=by)
    told = f"groups: {', '.join(groups) or 'none'}"
    missing = NoRole(f"{username} is in no group that has a role here.", extra={"reason": told})
    return _refuse(missing, by=by, username=username, address=address)


def _account(*, by: User.SignIn, subject: str, username: str, role: str | None) -> User | None:
    """The row, locked; None where there is none and, without a role, none shall be."""
    rows = User.objects.select_for_update()
    if (user := rows.filter(subject=subject).first()) is not None:
        return user
    named = rows.filter(username=username).first()
    if named is not None:
        if named.sign_in != by or named.subject is not None:
            raise AccountIsLocal(f"There is another account called {username} here.")
        named.subject = subject
        named.save(update_fields=["subject"])
        return named
    return _made(by=by, subject=subject, username=username, role=role) if role else None


def _made(*, by: User.SignIn, subject: str, username: str, role: str) -> User:
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError as error:
        raise _unusable(username) from error
    if len(username) > NAME_CHARS:
        raise _unusable(username)
    try:
        with transaction.atomic():
            user = User.objects.create_user(
                username=username, password=None, role=role, sign_in=by, subject=subject
            )
    except IntegrityError as error:
        # Two browsers of one person at once: the other has made the row.
        found = User.objects.filter(subject=subject).first()
        if found is None:
            raise AccountIsLocal(f"There is another account called {username} here.") from error
        return found
    events.record(
        actor=username,
        verb="user.created",
        subject=f"user/{username}",
        message=f"{username} came by {by.label} for the first time, as {role}",
        data={"role": role, "by": by.value},
    )
    return user


def _unusable(username: str) -> IdentityRefused:
    return IdentityRefused(
        "The provider gives you a name that accounts cannot have here: expected at most 150 "
        "letters, digits and @ . + - _.",
        extra={"reason": f"user name {username[:NAME_CHARS]!r}"},
    )


def _role_follow(user: User, role: str, *, by: User.SignIn) -> None:
    """Also down, and for the last administrator, too: the provider's word is the newer one."""
    if user.role == role:
        return
    before, user.role = user.role, role
    user.save(update_fields=["role"])
    events.record(
        actor=user.username,
        verb="user.updated",
        subject=f"user/{user.username}",
        message=f"{user.username} is now {role}, was {before}, by groups of {by.label}",
        severity=Event.Severity.WARNING,
        data={"before": {"role": before}, "after": {"role": role}, "by": by.value},
    )


def remote_user_refused(error: RemoteUserRefused, *, address: str) -> None:
    """Put headers of somebody who is no trusted proxy on record. Raises TooManyAttempts, and then
    does not: how many there are is the counter's business."""
    attempt_begin_alone(name=NO_PROXY, address=address)
    session_failed(
        username="unknown",
        by=User.SignIn.HEADER,
        address=address,
        code=error.code,
        reason=str(error.extra.get("reason", "")),
    )


@transaction.atomic
def _access_end(user: User, *, by: User.SignIn) -> None:
    """Whoever has no group with a role any more keeps neither browsers nor tokens."""
    ended = sessions_end_all(user=user)
    tokens = ApiToken.objects.filter(user=user).delete()[0]
    if not ended and not tokens:
        return
    events.record(
        actor=user.username,
        verb="user.access_ended",
        subject=f"user/{user.username}",
        message=f"{user.username} has no role by groups of {by.label}; sessions and tokens ended",
        severity=Event.Severity.WARNING,
        data={"sessions": ended, "tokens": tokens, "by": by.value},
    )


def _refuse(error: DomainError, *, by: User.SignIn, username: str, address: str) -> NoReturn:
    reason = str(error.extra.get("reason", ""))
    session_failed(username=username, by=by, address=address, code=error.code, reason=reason)
    raise error
