"""Service accounts: programs with a role and tokens that end. An administrator makes them."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from controlplane.accounts import selectors
from controlplane.accounts.errors import NameTaken, TokenTooLong
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.services.tokens import token_create
from controlplane.core import events
from controlplane.core.models import Event

TOKEN_NAME = "service"  # noqa: S105 - a label


@transaction.atomic
def service_account_create(
    *, name: str, role: str, actor: str, days: int | None = None
) -> tuple[User, str]:
    """The account, and its first token, which is shown once. Raises NameTaken, TokenTooLong."""
    end = _end(days)
    try:
        with transaction.atomic():
            account = User.objects.create_user(
                username=name, password=None, role=role, sign_in=User.SignIn.SERVICE
            )
    except IntegrityError as error:
        raise NameTaken(
            f"The name {name} is or was somebody's here; it stays theirs in the event log.",
            field="name",
        ) from error
    _, clear = token_create(user=account, name=TOKEN_NAME, actor=actor, expires_at=end)
    events.record(
        actor=actor,
        verb="service_account.created",
        subject=f"user/{name}",
        message=f"{actor} made the service account {name}, as {role}",
        data={"role": role, "expires_at": end.isoformat()},
    )
    return account, clear


@transaction.atomic
def service_account_rotate(
    *, name: str, actor: str, overlap: timedelta, days: int | None = None
) -> tuple[User, str]:
    """A fresh token; those before it end after ``overlap``, or sooner if they did anyhow.

    Raises ServiceAccountNotFound, TokenTooLong.
    """
    end = _end(days)
    account = selectors.service_account_get(name, locked=True)
    last = timezone.now() + overlap
    before = ApiToken.objects.filter(user=account, expires_at__gt=last)
    shortened = before.update(expires_at=last)
    token, clear = token_create(user=account, name=TOKEN_NAME, actor=actor, expires_at=end)
    events.record(
        actor=actor,
        verb="service_account.rotated",
        subject=f"user/{name}",
        message=f"{actor} gave the service account {name} a fresh token; older ones end",
        data={
            "prefix": token.prefix,
            "expires_at": end.isoformat(),
            "older_end_at": last.isoformat(),
            "older": shortened,
        },
    )
    return account, clear


@transaction.atomic
def service_account_role(*, name: str, role: str, actor: str) -> User:
    """Counts from the next request on. Raises ServiceAccountNotFound."""
    account = selectors.service_account_get(name, locked=True)
    if account.role == role:
        return account
    before, account.role = account.role, role
    account.save(update_fields=["role"])
    events.record(
        actor=actor,
        verb="service_account.updated",
        subject=f"user/{name}",
        message=f"The service account {name} is now {role}, was {before}",
        severity=Event.Severity.WARNING,
        before={"role": before},
        after={"role": role},
    )
    return account


@transaction.atomic
def service_account_delete(*, name: str, actor: str) -> None:
    """Its tokens end at once. The name is not given again. Raises ServiceAccountNotFound."""
    account = selectors.service_account_get(name, locked=True)
    ended = ApiToken.objects.filter(user=account).delete()[0]
    # why the row stays: what it uploaded is its, and events go on naming it
    account.is_active = False
    account.save(update_fields=["is_active"])
    events.record(
        actor=actor,
        verb="service_account.deleted",
        subject=f"user/{name}",
        message=f"{actor} deleted the service account {name}; its tokens ended",
        severity=Event.Severity.WARNING,
        data={"tokens": ended},
    )


def _end(days: int | None) -> datetime:
    most = settings.SHOAL_SERVICE_TOKEN_MAX_DAYS
    wanted = min(settings.SHOAL_SERVICE_TOKEN_DAYS, most) if days is None else days
    if wanted > most:
        raise TokenTooLong(
            f"days: {wanted}, expected {most} at most (SHOAL_SERVICE_TOKEN_MAX_DAYS).",
            field="days",
        )
    return timezone.now() + timedelta(days=wanted)
