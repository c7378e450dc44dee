"""People: made, given roles, put out, their passwords. Somebody always remains who can do it."""

import secrets

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.accounts import selectors
from controlplane.accounts.errors import (
    LastAdministrator,
    NameTaken,
    PasswordRefused,
    SignsInElsewhere,
)
from controlplane.accounts.models import ApiToken, SecondFactor, User
from controlplane.accounts.services.sessions import password_confirm, sessions_end_all
from controlplane.core import events
from controlplane.core.models import Event

ELSEWHERE = (User.SignIn.OIDC, User.SignIn.HEADER)  # where passwords and roles are kept


@transaction.atomic
def user_create(
    *, username: str, role: str, password: str | None, actor: str
) -> tuple[User, str | None]:
    """The row, and the password when this call made one up. Raises NameTaken, PasswordRefused."""
    clear = password_checked(password) if password else _password_new()
    try:
        with transaction.atomic():
            user = User.objects.create_user(username=username, password=clear, role=role)
    except IntegrityError as error:
        raise NameTaken(f"There is a user called {username}.", field="username") from error
    events.record(
        actor=actor,
        verb="user.created",
        subject=f"user/{username}",
        message=f"{actor} added {username} as {role}",
        data={"role": role},
    )
    return user, None if password else clear


@transaction.atomic
def user_update(
    *,
    username: str,
    actor: str,
    role: str | None = None,
    active: bool | None = None,
    sign_in: str | None = None,
) -> User:
    """Another role, or no more access (sessions and tokens end), or another way to sign in.

    What is None stays. Handed over to a provider, an account is whose who next comes from there
    with its name; handed back, it has no password until somebody sets one.

    Raises UserNotFound, LastAdministrator, SignsInElsewhere.
    """
    # why all administrators: two who demote one another at once must not both succeed.
    list(User.objects.select_for_update().filter(role=User.Role.ADMIN).values_list("pk"))
    user = selectors.user_get(username)
    before = {"role": user.role, "active": user.is_active, "sign_in": user.sign_in}
    after = {
        "role": before["role"] if role is None else role,
        "active": before["active"] if active is None else active,
        "sign_in": before["sign_in"] if sign_in is None else sign_in,
    }
    if after == before:
        return user
    if after["role"] != before["role"] and after["sign_in"] in ELSEWHERE:
        raise SignsInElsewhere(
            f"The role of {username} comes from the groups that the provider tells.", field="role"
        )
    administers = after["role"] == User.Role.ADMIN and after["active"]
    if not administers and selectors.is_last_administrator(user):
        raise LastAdministrator(
            f"{username} is the last administrator.",
            hints=("Make somebody else an administrator first.",),
        )
    user.role, user.is_active = str(after["role"]), bool(after["active"])
    user.sign_in = str(after["sign_in"])
    user.save(update_fields=["role", "is_active", "sign_in"])
    if before["sign_in"] != user.sign_in:
        user.subject = None
        user.set_unusable_password()
        user.save(update_fields=["subject", "password"])
        sessions_end_all(user=user)
    if before["active"] and not user.is_active:
        sessions_end_all(user=user)
        ApiToken.objects.filter(user=user).delete()
    events.record(
        actor=actor,
        verb="user.updated" if before["active"] == after["active"] else _word(user),
        subject=f"user/{username}",
        message=_sentence(username, before, after),
        severity=Event.Severity.WARNING,
        data={"before": before, "after": after},
    )
    return user


def _word(user: User) -> str:
    return "user.activated" if user.is_active else "user.deactivated"


def _sentence(username: str, before: dict[str, object], after: dict[str, object]) -> str:
    if before["active"] and not after["active"]:
        return f"{username} was deactivated; sessions and tokens ended"
    if after["active"] and not before["active"]:
        return f"{username} may sign in again, as {after['role']}"
    if after["sign_in"] != before["sign_in"]:
        return f"{username} signs in by {after['sign_in']}, no longer by {before['sign_in']}"
    return f"{username} is now {after['role']}, was {before['role']}"


@transaction.atomic
def password_set(*, username: str, password: str | None, actor: str) -> str | None:
    """An administrator's way; all sessions of the user end. Returns a password made up here.

    Raises UserNotFound, PasswordRefused, SignsInElsewhere.
    """
    user = selectors.user_get(username)
    _keep_passwords_here(user)
    clear = password_checked(password, user) if password else _password_new()
    _password_write(user, clear, actor=actor, message=f"{actor} set the password of {username}")
    sessions_end_all(user=user)
    return None if password else clear


def password_change(*, user: User, current: str, password: str, address: str) -> None:
    """One's own; all browsers are signed out, the caller signs this one in again.

    Raises BadCredentials, TooManyAttempts, SignInBusy, PasswordRefused, SignsInElsewhere.
    """
    _keep_passwords_here(user)
    password_confirm(user=user, password=current, address=address)
    clear = password_checked(password, user)
    with transaction.atomic():
        message = f"{user.username} changed the password"
        _password_write(user, clear, actor=user.username, message=message)
        sessions_end_all(user=user)


def _keep_passwords_here(user: User) -> None:
    if user.sign_in in ELSEWHERE:
        raise SignsInElsewhere(f"{user.username} signs in by {user.sign_in}, without a password.")


def _password_write(user: User, clear: str, *, actor: str, message: str) -> None:
    user.set_password(clear)
    user.save(update_fields=["password"])
    events.record(
        actor=actor, verb="user.password_set", subject=f"user/{user.username}", message=message
    )


def password_checked(password: str, user: User | None = None) -> str:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise PasswordRefused(" ".join(error.messages), field="password") from error
    return password


def _password_new() -> str:
    return secrets.token_urlsafe(15)


@transaction.atomic
def administrator_ensure(*, username: str) -> tuple[User, str | None]:
    """The administrator, and the generated password when this call made the account."""
    existing = selectors.administrators().order_by("pk").first()
    if existing is not None:
        return existing, None
    password = _password_new()
    user = User.objects.create_user(username=username, password=password, role=User.Role.ADMIN)
    events.record(
        actor="system",
        verb="user.created",
        subject=f"user/{username}",
        message=f"First administrator {username} created",
    )
    return user, password


@transaction.atomic
def break_glass(*, username: str) -> str:
    """An administrator whose password counts even where passwords do not; returns it.

    For the host's own command line alone: an account of that name is taken over.
    """
    clear = _password_new()
    user = User.objects.filter(username=username).first() or User(username=username)
    user.role, user.is_active = User.Role.ADMIN, True
    user.sign_in, user.subject = User.SignIn.BREAK_GLASS, None
    user.set_password(clear)
    user.save()
    sessions_end_all(user=user)
    ApiToken.objects.filter(user=user).delete()
    SecondFactor.objects.filter(user=user).delete()
    events.record(
        actor="system",
        verb="user.break_glass",
        subject=f"user/{username}",
        message=f"{username} may sign in by password, as administrator: made on the host",
        severity=Event.Severity.WARNING,
    )
    return clear
