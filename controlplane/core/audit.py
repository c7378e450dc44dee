"""The chain over the event log: every sealed event carries a keyed hash of itself and of the one
before, so that none can be changed, removed or slipped in unseen.

Sealing comes after the fact, in one place, in the order of ``link``. A chain extended inside each
transaction would make all of them wait for each other, and be a way to deadlock.
"""

import csv
import hashlib
import hmac
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from controlplane.core import events, vault
from controlplane.core.models import AuditHead, Event

PURPOSE: Final = "shoal audit chain"
HEAD_PURPOSE: Final = "shoal audit head"
BROKEN: Final = "audit.broken"  # the verb of the mark that a forged end leaves in the chain
BATCH: Final = 500
START: Final = "0" * 64  # what the first link hangs on
COLUMNS: Final = (
    "seq", "at", "actor", "verb", "subject", "severity", "message", "data", "link", "digest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain does not hold."""

    link: int
    seq: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Verification:
    ok: bool
    sealed: int
    unsealed: int
    head: str
    broken: Break | None


def digest_of(before: str, link: int, event: Event) -> str:
    """The keyed hash of one event at one place of the chain; hexadecimal."""
    parts = {
        "before": before,
        "link": link,
        "seq": event.seq,
        "at": event.at.astimezone(UTC).isoformat(),
        "actor": event.actor,
        "verb": event.verb,
        "subject": event.subject,
        "severity": str(event.severity),
        "message": event.message,
        "data": event.data,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    # why keyed: who can write to the database alone cannot make the chain fit again
    return hmac.new(vault.derived(PURPOSE), text.encode(), hashlib.sha256).hexdigest()


def mac_of(link: int, digest: str) -> str:
    """The keyed hash that the end of the chain carries; hexadecimal."""
    # why: a log that was cut short, with an end that says so, would hold otherwise
    text = f"{link} {digest}"
    return hmac.new(vault.derived(HEAD_PURPOSE), text.encode(), hashlib.sha256).hexdigest()


def seal() -> int:
    """Hang every event that was committed since onto the chain. Returns how many."""
    sealed = 0
    while count := _seal_batch():
        sealed += count
    return sealed


@transaction.atomic
def _seal_batch() -> int:
    head = _head()
    rows = list(Event.objects.filter(link=None).order_by("seq")[:BATCH])
    for event in rows:
        head.link += 1
        head.digest = digest_of(head.digest, head.link, event)
        event.link, event.digest = head.link, head.digest
    Event.objects.bulk_update(rows, ["link", "digest"])
    head.mac = mac_of(head.link, head.digest)
    head.save()
    return len(rows)


def _head() -> AuditHead:
    """The end of the chain, locked. One that is not ours leaves a mark in the log."""
    start = {"digest": START, "mac": mac_of(0, START)}
    AuditHead.objects.get_or_create(pk=1, defaults=start)
    # why locked: two workers at once must not fork the chain
    head = AuditHead.objects.select_for_update().get(pk=1)
    last = Event.objects.exclude(link=None).order_by("-link").first()
    last_link = last.link or 0 if last else 0
    ours = hmac.compare_digest(head.mac, mac_of(head.link, head.digest))
    if ours and head.link >= last_link:
        return head
    told = f"The end of the event log's chain, link {head.link}, was changed by somebody else."
    events.record(
        actor="system", verb=BROKEN, subject="events", message=told, severity=Event.Severity.ERROR
    )
    if last is not None and last_link > head.link:
        head.link, head.digest = last_link, last.digest
    return head


def verify() -> Verification:
    """Walk the whole chain, after sealing what is new. The first break ends the walk."""
    seal()
    digest, link, broken = START, 0, None
    for event in Event.objects.exclude(link=None).order_by("link").iterator(BATCH):
        broken = _break_at(event, link + 1, digest)
        if broken is not None:
            break
        digest, link = event.digest, link + 1
    head = AuditHead.objects.get(pk=1)
    if broken is None and (head.link, head.digest) != (link, digest):
        broken = Break(link + 1, None, f"The events from link {link + 1} to {head.link} are gone.")
    return Verification(
        ok=broken is None,
        sealed=head.link,
        unsealed=Event.objects.filter(link=None).count(),
        head=head.digest,
        broken=broken,
    )


def _break_at(event: Event, expected: int, before: str) -> Break | None:
    if event.link != expected:
        return Break(expected, None, f"No event holds link {expected}: it was removed.")
    if not hmac.compare_digest(event.digest, digest_of(before, expected, event)):
        reason = f"Event {event.seq} is not what was sealed: it, or the one before, was changed."
        return Break(expected, event.seq, reason)
    if event.verb == BROKEN:
        return Break(expected, event.seq, event.message)
    return None


def export_rows(events: QuerySet[Event]) -> Iterator[dict[str, Any]]:
    """Events as they are exported, in order of their numbers."""
    for event in events.order_by("seq").iterator(BATCH):
        row = {name: getattr(event, name) for name in COLUMNS}
        yield row | {"at": event.at.astimezone(UTC).isoformat(), "severity": str(event.severity)}


def export_ndjson(events: QuerySet[Event]) -> Iterator[str]:
    for row in export_rows(events):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def export_csv(events: QuerySet[Event]) -> Iterator[str]:
    """With a head line; ``data`` is JSON in its cell."""
    yield _line(COLUMNS)
    for row in export_rows(events):
        row["data"] = json.dumps(row["data"], ensure_ascii=False, sort_keys=True)
        yield _line([_cell(row[name]) for name in COLUMNS])


def _cell(value: Any) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _line(cells: Iterable[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerow(cells)
    return stream.getvalue()


def between(since: datetime | None, until: datetime | None) -> QuerySet[Event]:
    """``since`` counts, ``until`` does not."""
    rows = Event.objects.all()
    if since is not None:
        rows = rows.filter(at__gte=since)
    return rows if until is None else rows.filter(at__lt=until)
