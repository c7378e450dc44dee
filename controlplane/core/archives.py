"""Archives: runs of sealed events that left the database, and still prove what came before.

The file of one is a gzip of lines of JSON: its seal, then its events in order of their links. The
seal says where the run begins and ends in the chain, how many events it has and which bytes, with
a keyed hash over that; the database has it, too. An archive is made whole or not at all, and read
whole: it has ``MOST`` events, of ``LARGEST`` bytes together.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

from django.db.models import Q

from controlplane.core import seals
from controlplane.core.chain import CHANGED, FORGED, REMOVED, UNREADABLE, Break, Walk
from controlplane.core.models import Event, EventArchive

MOST: Final = 5000  # of events in one
LARGEST: Final = 256 * 2**20  # bytes of one, unpacked: its file may be a small one that grows
_HEAD_BYTES: Final = 4096  # more than the line of a seal has
FORMAT: Final = 1
UNPACKABLE: Final = (*UNREADABLE, EOFError, zlib.error, OSError, KeyError)

# Opens a file by its SHA-256. Raises FileNotFoundError, core.errors.Unavailable.
Opened = Callable[[str], BinaryIO]


class ArchiveBroken(Exception):
    """What is stored of an archive is not what was sealed; ``found`` says how."""

    def __init__(self, found: Break) -> None:
        super().__init__(found.reason)
        self.found = found


def made(events: Sequence[Event], before: str) -> tuple[EventArchive, bytes]:
    """An archive of these sealed events, not saved yet, and its file; of the first of them, where
    all were too large for one.

    They are at least one, each with the next link; ``before`` is the hash that the first hangs on.
    The same events make the same bytes.
    """
    fitting, size = list[bytes](), _HEAD_BYTES
    for event in events:
        line = _line(_parts(event))
        size += len(line)
        if fitting and size > LARGEST:
            break
        fitting.append(line)
    events, lines = events[: len(fitting)], b"".join(fitting)
    moments = [event.at for event in events]
    row = EventArchive(
        first_link=events[0].link or 0,
        last_link=events[-1].link or 0,
        first_seq=events[0].seq,
        last_seq=events[-1].seq,
        first_at=min(moments),
        last_at=max(moments),
        events=len(events),
        before=before,
        after=events[-1].digest,
        content_sha256=hashlib.sha256(lines).hexdigest(),
    )
    row.mac = seals.archive_mac(row)
    content = gzip.compress(_line(_seal(row)) + lines, mtime=0)
    row.sha256, row.size = hashlib.sha256(content).hexdigest(), len(content)
    return row, content


def last() -> EventArchive | None:
    """The one at which the database's part of the chain begins; only one with our seal counts."""
    try:
        rows = list(EventArchive.objects.order_by("-last_link"))
        return next((row for row in rows if _is_ours(row)), None)
    except UNREADABLE:
        return None  # verifying tells


def read(row: EventArchive, opened: Opened) -> list[Event]:
    """Its events, as they were. Raises ArchiveBroken, core.errors.Unavailable."""
    try:
        with opened(row.sha256) as file:
            content = file.read(min(row.size, LARGEST) + 1)
    except FileNotFoundError as error:
        raise _broken(REMOVED, row, "its file is gone from where blobs are kept") from error
    if hashlib.sha256(content).hexdigest() != row.sha256:
        raise _broken(CHANGED, row, "its file has other bytes than were stored")
    try:
        head, _, lines = _unpacked(content).partition(b"\n")
        if json.loads(head) != _seal(row):
            raise _broken(CHANGED, row, "its file has another seal than the database")
        if hashlib.sha256(lines).hexdigest() != row.content_sha256:
            raise _broken(CHANGED, row, "its events have other bytes than were sealed")
        return [_event(json.loads(line)) for line in lines.splitlines()]
    except UNPACKABLE as error:
        raise _broken(CHANGED, row, f"its file cannot be read ({error})") from error


def _unpacked(content: bytes) -> bytes:
    """Raises zlib.error, EOFError."""
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # of gzip
    found = unpacking.decompress(content, LARGEST + 1)
    if len(found) > LARGEST:
        raise zlib.error(f"it unpacks to more than {LARGEST:,} bytes")
    if not unpacking.eof:
        raise EOFError("it ends in the middle")
    if unpacking.unused_data:
        raise zlib.error("something stands behind its end")
    return found


def walk(way: Walk, opened: Opened | None) -> Break | None:
    """From the chain's beginning to the end of the last archive. Without ``opened`` the seals are
    compared alone. Raises core.errors.Unavailable."""
    try:
        rows = list(EventArchive.objects.order_by("first_link", "pk"))
        copies = _copies(rows) if opened else frozenset()
    except UNREADABLE as error:
        return Break(CHANGED, 1, None, f"The list of archives cannot be read ({error}).")
    for row in rows:
        if found := check(row, way, opened, copies):
            return found
    return None


def check(
    row: EventArchive, way: Walk, opened: Opened | None, copies: frozenset[str] = frozenset()
) -> Break | None:
    """One step of ``walk``, over one archive: sealed by us, the next, and whole.

    ``copies`` are keyed hashes of events in the database that may be copies of archived ones.
    Raises core.errors.Unavailable.
    """
    try:
        ours = _is_ours(row)
    except UNREADABLE as error:
        return Break(CHANGED, way.link + 1, None, f"Archive {row.pk} cannot be read ({error}).")
    if not ours:
        return _broken(CHANGED, row, "its seal is not what Shoal wrote").found
    if row.first_link != way.link + 1:
        kind, why = REMOVED, f"an archive before it, from link {way.link + 1} on, is missing"
        if row.first_link <= way.link:
            kind, why = FORGED, f"links to {way.link} are in the archive before it"
        return _broken(kind, row, why).found
    if not seals.same(row.before, way.digest):
        return _broken(CHANGED, row, "it does not go on where the chain before it ended").found
    if opened is None:
        way.link, way.digest = row.last_link, row.after
        return None
    try:
        return _check_events(row, way, read(row, opened), copies)
    except ArchiveBroken as error:
        return error.found
    except UNREADABLE as error:
        return _broken(CHANGED, row, f"an event of it cannot be read ({error})").found


def _check_events(
    row: EventArchive, way: Walk, events: Sequence[Event], copies: frozenset[str]
) -> Break | None:
    # Those that are here still: it was stored, and what it holds is not deleted yet.
    here = {event.link: event for event in rows_of(row)}
    for event in events:
        before = way.digest
        if found := way.step(event):
            return found
        twin = here.get(way.link)
        if twin and not seals.same(event.digest, seals.digest_of(before, way.link, twin)):
            reason = f"Event {twin.seq} is not what archive {row.pk} has at link {way.link}."
            return Break(CHANGED, way.link, twin.seq, reason)
        if event.mac in copies:
            reason = f"A copy of event {event.seq}, which is in archive {row.pk}, was slipped in."
            return Break(FORGED, way.link, event.seq, reason)
    if (way.link, way.digest, len(events)) != (row.last_link, row.after, row.events):
        return _broken(CHANGED, row, "it ends elsewhere than its seal says").found
    return None


def rows_of(row: EventArchive) -> Any:
    """The events of the database whose places are in this archive."""
    return Event.objects.filter(link__gte=row.first_link, link__lte=row.last_link)


def _copies(rows: Sequence[EventArchive]) -> frozenset[str]:
    """Whoever slips a copy of an archived event in must leave its time, which its hash is over."""
    if not rows:
        return frozenset()
    behind = Q(link=None) | Q(link__gt=max(row.last_link for row in rows))
    old = Event.objects.filter(behind, at__lte=max(row.last_at for row in rows))
    return frozenset(old.exclude(mac="").values_list("mac", flat=True))


def _is_ours(row: EventArchive) -> bool:
    return seals.same(row.mac, seals.archive_mac(row))


def _seal(row: EventArchive) -> dict[str, Any]:
    return {"format": FORMAT, **seals.archive_told(row), "mac": row.mac}


def _parts(event: Event) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "at": event.at.astimezone(UTC).isoformat(),
        "actor": event.actor,
        "verb": event.verb,
        "subject": event.subject,
        "severity": str(event.severity),
        "message": event.message,
        "data": event.data,
        "mac": event.mac,
        "link": event.link,
        "digest": event.digest,
    }


def _event(parts: dict[str, Any]) -> Event:
    return Event(**{**parts, "at": datetime.fromisoformat(parts["at"])})


def _line(parts: dict[str, Any]) -> bytes:
    return json.dumps(parts, separators=(",", ":")).encode() + b"\n"


def _broken(kind: str, row: EventArchive, why: str) -> ArchiveBroken:
    named = f"Archive {row.pk} (links {row.first_link} to {row.last_link})"
    return ArchiveBroken(Break(kind, row.first_link, None, f"{named}: {why}."))
