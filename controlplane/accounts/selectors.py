"""Reads of accounts."""

import math
from datetime import datetime

from django.db.models import QuerySet

from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.types import PER_ADDRESS, PER_USER, BackOff, token_hash
from controlplane.core.models import Event

FAILED_VERB = "session.failed"
OPENED_VERB = "session.opened"


def token_list_for(user: User) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user)


def token_get(clear: str) -> ApiToken | None:
    """The token, if it exists and its user may still act."""
    return (
        ApiToken.objects.select_related("user")
        .filter(token_hash=token_hash(clear), user__is_active=True)
        .first()
    )


def login_wait_s(*, username: str, address: str, now: datetime) -> int:
    """Seconds that this user name from this address, or this address alone, still has to wait.

    Counted in the audit log, so that it holds for all web processes and over restarts.
    """
    mine = Event.objects.filter(data__address=address)
    by_user = mine.filter(subject=f"user/{username}")
    opened = by_user.filter(verb=OPENED_VERB).order_by("-seq").first()
    if opened is not None:
        by_user = by_user.filter(seq__gt=opened.seq)
    return max(_remaining_s(by_user, PER_USER, now), _remaining_s(mine, PER_ADDRESS, now))


def _remaining_s(events: QuerySet[Event], rule: BackOff, now: datetime) -> int:
    failed = events.filter(verb=FAILED_VERB, at__gte=now - rule.window)
    times = list(failed.order_by("-seq").values_list("at", flat=True)[:64])
    if not times:
        return 0
    waited_s = (now - times[0]).total_seconds()
    return max(0, math.ceil(rule.wait_s(len(times)) - waited_s))
