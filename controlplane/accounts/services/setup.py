"""The first run: a link that works once gives the first administrator a name and a password."""

import hmac

from django.db import IntegrityError, transaction

from controlplane.accounts import selectors
from controlplane.accounts.errors import NameTaken, SetupClosed, SetupTokenWrong
from controlplane.accounts.models import SetupToken, User
from controlplane.accounts.services.sign_in_throttle import attempt_begin_apart, attempt_withdraw
from controlplane.accounts.services.users import password_checked
from controlplane.accounts.types import token_hash, token_new
from controlplane.core import events
from controlplane.core.models import Event

# Nobody can be called this: failures are counted beside those of people.
NOBODY = "/setup"


def setup_token_make(*, user: User) -> str:
    """The clear token of a link for ``user``; an earlier one is dead."""
    clear = token_new()
    SetupToken.objects.update_or_create(user=user, defaults={"token_hash": token_hash(clear)})
    return clear


def setup_finish(*, token: str, username: str, password: str, address: str) -> User:
    """The first administrator under the name and with the password of their choice.

    Once only, and not after that administrator signed in with the password that was printed.
    Raises SetupClosed, SetupTokenWrong, TooManyAttempts (back-off), NameTaken, PasswordRefused.
    """
    if (waiting := selectors.setup_user()) is None:
        raise _closed()
    attempt = attempt_begin_apart(name=NOBODY, address=address)
    _right(waiting, token, address)
    attempt_withdraw(attempt)
    with transaction.atomic():
        # Two browsers with one link: the second finds no row.
        row = SetupToken.objects.select_for_update().filter(token_hash=token_hash(token)).first()
        user = User.objects.select_for_update().filter(pk=row.user_id).first() if row else None
        if row is None or user is None or user.last_login is not None:
            raise _closed()
        before = user.username
        user.username = username
        user.set_password(password_checked(password, user))
        try:
            with transaction.atomic():
                user.save(update_fields=["username", "password"])
        except IntegrityError as error:
            raise NameTaken(f"There is a user called {username}.", field="username") from error
        row.delete()
        events.record(
            actor=username,
            verb="user.updated",
            subject=f"user/{username}",
            message=f"{username} set the installation up as its first administrator",
            data={"address": address, "by": "setup link", "before": {"username": before}},
        )
    return user


def _right(user: User, token: str, address: str) -> None:
    if hmac.compare_digest(user.setup_token.token_hash, token_hash(token)):
        return
    # why its own transaction: the failure must stay on record although the request fails
    with transaction.atomic():
        events.record(
            actor="system",
            verb="session.failed",
            subject=f"user/{NOBODY}",
            message="A link to the first-run page did not fit",
            severity=Event.Severity.WARNING,
            data={"address": address, "by": "setup link", "code": SetupTokenWrong.code},
        )
    raise SetupTokenWrong("This link is not the one that was printed.", field="token")


def _closed() -> SetupClosed:
    return SetupClosed("This installation is set up already.")
