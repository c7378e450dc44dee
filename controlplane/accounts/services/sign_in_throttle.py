"""Throttling of attempts at secrets that people choose: they count before they are looked at.

Checking and counting is one step under row locks, so that of many attempts at once only as many
are heard as one after the other. What was right is taken back.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts.errors import TooManyAttempts
from controlplane.accounts.models import SignInCounter
from controlplane.accounts.selectors import is_known
from controlplane.accounts.types import KNOWN_FOR, PER_ADDRESS, PER_USER, BackOff, network_of

ANY: Final = ""
NAME_CHARS: Final = 150

CounterKey = tuple[str, str]  # name, network


@dataclass(frozen=True, slots=True)
class Attempt:
    """One that is being heard, and counts as a failure until it is said to be right."""

    name: str
    network: str
    known: bool
    counters: tuple[CounterKey, ...]


def attempt_begin(*, username: str, address: str, now: datetime | None = None) -> Attempt:
    """Count an attempt to sign in. Raises TooManyAttempts, and then does not.

    Where a name signed in before it has a counter of its own: strangers, from however many
    addresses, neither use it up nor make it wait. They share one counter per name, and one per
    network.
    """
    now, network = now or timezone.now(), network_of(address)
    known = is_known(username=username, network=network, now=now)
    counters = ((username, network),) if known else ((ANY, network), (username, ANY))
    return _begin(Attempt(username, network, known, counters), now)


def attempt_begin_apart(*, name: str, address: str, now: datetime | None = None) -> Attempt:
    """The same for a secret that nobody can guess: no address makes another wait."""
    network = network_of(address)
    counters = ((ANY, network), (name, network))
    return _begin(Attempt(name, network, False, counters), now or timezone.now())


def attempt_begin_unnamed(*, address: str, now: datetime | None = None) -> Attempt:
    """The same where nobody has said a name yet: only the network counts."""
    network = network_of(address)
    return _begin(Attempt(ANY, network, False, ((ANY, network),)), now or timezone.now())


def attempt_begin_alone(*, name: str, address: str, now: datetime | None = None) -> Attempt:
    """The same for what nobody guesses, as somebody's missing role: nobody else waits for it."""
    network = network_of(address)
    name = name[:NAME_CHARS]  # of the column; a proxy's may be longer
    return _begin(Attempt(name, network, False, ((name, network),)), now or timezone.now())


@transaction.atomic
def _begin(attempt: Attempt, now: datetime) -> Attempt:
    SignInCounter.objects.bulk_create(
        [
            SignInCounter(name=name, network=network, tried_at=now)
            for name, network in attempt.counters
        ],
        ignore_conflicts=True,
    )
    rows = _locked(attempt)
    wait_s = max(_remaining_s(row, now) for row in rows)
    if wait_s:
        raise TooManyAttempts(
            f"Too many attempts that failed. Try again in {wait_s} s.",
            extra={"retry_after_s": wait_s},
        )
    for row in rows:
        row.failures = _failures(row, now) + 1
        row.tried_at = now
    SignInCounter.objects.bulk_update(rows, ["failures", "tried_at"])
    return attempt


def attempt_succeed(attempt: Attempt) -> None:
    """The secret was right: take this attempt back, and know the place from now on."""
    attempt_withdraw(attempt)
    now = timezone.now()
    SignInCounter.objects.update_or_create(
        name=attempt.name,
        network=attempt.network,
        defaults={"failures": 0, "tried_at": now, "opened_at": now},
    )


@transaction.atomic
def attempt_withdraw(attempt: Attempt) -> None:
    """Nobody looked at the secret: take this attempt back."""
    rows = _locked(attempt)
    for row in rows:
        row.failures = max(0, row.failures - 1)
    SignInCounter.objects.bulk_update(rows, ["failures"])


def counters_prune() -> int:
    """Forget what counts no more. Returns how many."""
    now = timezone.now()
    forgotten = Q(tried_at__lt=now - max(PER_USER.window, PER_ADDRESS.window))
    unknown = Q(opened_at=None) | Q(opened_at__lt=now - KNOWN_FOR)
    return SignInCounter.objects.filter(forgotten & unknown).delete()[0]


def _locked(attempt: Attempt) -> list[SignInCounter]:
    wanted = Q()
    for name, network in attempt.counters:
        wanted |= Q(name=name, network=network)
    # why in order: two attempts that share both counters must not wait for one another
    rows = SignInCounter.objects.filter(wanted).order_by("name", "network")
    return list(rows.select_for_update())


def _rule(row: SignInCounter) -> BackOff:
    return PER_USER if row.name else PER_ADDRESS


def _since_s(row: SignInCounter, now: datetime) -> float:
    # why absolute: attempts at once see each other's moment as later, and clocks are set back
    return abs((now - row.tried_at).total_seconds())


def _failures(row: SignInCounter, now: datetime) -> int:
    return row.failures if _since_s(row, now) < _rule(row).window.total_seconds() else 0


def _remaining_s(row: SignInCounter, now: datetime) -> int:
    wait_s = _rule(row).wait_s(_failures(row, now))
    return max(0, math.ceil(wait_s - _since_s(row, now))) if wait_s else 0
