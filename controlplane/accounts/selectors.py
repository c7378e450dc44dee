"""Reads of accounts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Count, Exists, Max, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone

from controlplane.accounts import second_factor
from controlplane.accounts.errors import ServiceAccountNotFound, UserNotFound
from controlplane.accounts.models import (
    ApiToken,
    BrowserSession,
    SecondFactor,
    SignInCounter,
    User,
)
from controlplane.accounts.types import KNOWN_FOR, token_hash
from controlplane.core.models import Event

ABOUT_PEOPLE: Final = "user/"  # how the subjects of all events of this app begin


def setup_user() -> User | None:
    """Whom the first-run page is open for: an administrator who has never signed in."""
    waiting = User.objects.filter(setup_token__isnull=False, last_login=None, is_active=True)
    return waiting.first()


def token_list_for(user: User) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user)


def token_get(clear: str, now: datetime | None = None) -> ApiToken | None:
    """The token, if it exists, has not expired, and its user may still act."""
    now = now or timezone.now()
    return (
        ApiToken.objects.select_related("user")
        .filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))
        .filter(token_hash=token_hash(clear), user__is_active=True)
        .first()
    )


def has_second_factor(user: User) -> bool:
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).exists()


@dataclass(frozen=True, slots=True)
class FactorShown:
    state: Literal["on", "off", "missing", "elsewhere"]
    recovery_codes_left: int = 0


def second_factor_of(user: User) -> FactorShown:
    if not second_factor.applies(user):
        return FactorShown("elsewhere")
    row = SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).first()
    if row is not None:
        return FactorShown("on", len(row.recovery))
    required = second_factor.is_required(user, settings.SHOAL_SECOND_FACTOR_ROLES)
    return FactorShown("missing" if required else "off")


def second_factor_missing(user: User) -> bool:
    """Whether a browser of this account may do nothing but set one up."""
    required = second_factor.is_required(user, settings.SHOAL_SECOND_FACTOR_ROLES)
    return required and not has_second_factor(user)


def user_list() -> QuerySet[User]:
    """All people, with the number of tokens and the last time a browser of theirs was seen."""
    return User.objects.exclude(sign_in=User.SignIn.SERVICE).annotate(
        token_count=Count("api_tokens", distinct=True),
        last_seen_at=Max("browser_sessions__last_seen_at"),
        has_second_factor=Exists(
            SecondFactor.objects.filter(user=OuterRef("pk"), confirmed_at__isnull=False)
        ),
    )


def user_get(username: str) -> User:
    """Raises UserNotFound."""
    user = user_list().filter(username=username).first()
    if user is None:
        raise UserNotFound(f"There is no user called {username}.")
    return user


def account_get(username: str) -> User:
    """A person, or a service account. Raises UserNotFound."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise UserNotFound(f"There is no user or service account called {username}.")
    return user


def administrators() -> QuerySet[User]:
    """People who may administer now: a program that may is nobody who could let others in."""
    admins = User.objects.filter(role=User.Role.ADMIN, is_active=True)
    return admins.exclude(sign_in=User.SignIn.SERVICE)


def service_account_list() -> QuerySet[User]:
    """Those that are not deleted, with the tokens that still work as ``live_tokens``."""
    alive = ApiToken.objects.filter(expires_at__gt=timezone.now()).order_by("-created_at", "-pk")
    found = User.objects.filter(sign_in=User.SignIn.SERVICE, is_active=True)
    return found.prefetch_related(Prefetch("api_tokens", queryset=alive, to_attr="live_tokens"))


def service_account_get(name: str, *, locked: bool = False) -> User:
    """``locked``: in a transaction, for a change. Raises ServiceAccountNotFound."""
    rows = service_account_list()
    account = (rows.select_for_update() if locked else rows).filter(username=name).first()
    if account is None:
        raise ServiceAccountNotFound(f"There is no service account called {name}.")
    return account


def is_last_administrator(user: User) -> bool:
    admins = administrators()
    return admins.filter(pk=user.pk).exists() and not admins.exclude(pk=user.pk).exists()


def session_list_for(user: User, now: datetime) -> QuerySet[BrowserSession]:
    alive = Session.objects.filter(expire_date__gt=now).values("session_key")
    return BrowserSession.objects.filter(user=user, session_key__in=alive)


def user_of_session(user_id: int, session_key: str | None, now: datetime) -> User | None:
    """Who a socket speaks for by now: None once the session or the account has ended, and before
    a second factor that is required."""
    alive = Session.objects.filter(session_key=session_key or "", expire_date__gt=now).exists()
    user = User.objects.filter(pk=user_id, is_active=True).first() if alive else None
    return None if user is not None and second_factor_missing(user) else user


def events_shown(*, people: bool) -> QuerySet[Event]:
    """The event log for a reader: what is about people only for who may read people.

    That is whom it is about and from which addresses they came; names of actors remain.
    """
    rows = Event.objects.all()
    return rows if people else rows.exclude(subject__startswith=ABOUT_PEOPLE)


def is_known(*, username: str, network: str, now: datetime) -> bool:
    """Whether this name signed in from this network before, and not too long ago."""
    counter = SignInCounter.objects.filter(name=username, network=network)
    return counter.filter(opened_at__gt=now - KNOWN_FOR).exists()
