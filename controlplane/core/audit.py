"""The chain over the event log: every event carries a keyed hash from the moment it is written, and
once sealed one of itself and of the one before, so that none can be changed, removed or slipped in
unseen.

Sealing comes after the fact, in one place, in the order of ``link``. A chain extended inside each
transaction would make all of them wait for each other, and be a way to deadlock.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, Min, Q, Sum
from django.utils import timezone

from controlplane.core import anchors, archives, events, seals
from controlplane.core.anchors import Anchors
from controlplane.core.chain import (
    BROKEN,
    CHANGED,
    FORGED,
    OTHER_KEY,
    REMOVED,
    REWOUND,
    START,
    UNREADABLE,
    Break,
    Walk,
)
from controlplane.core.errors import Unavailable
from controlplane.core.models import AuditHead, Event, EventArchive

RESTORED: Final = "audit.restored"
BATCH: Final = 500
ONLY: Final = 1  # the key of the one head
LARGEST: Final = 2**62  # of links; who writes a larger one wants us to run out of numbers
ANCHOR_EVERY: Final = timedelta(minutes=1)
ANCHOR_EVENTS: Final = 1000
BLANK: Final[dict[str, Any]] = {
    "actor": "system", "verb": "event.unreadable", "subject": "events", "severity": "error",
    "message": "What stood in this row could not be read.", "data": {}, "mac": "", "link": None,
    "digest": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verification:
    ok: bool
    sealed: int
    unsealed: int
    head: str
    anchors: int
    restores: int
    broken: Break | None
    archives: int = 0
    archived: int = 0  # events of ``sealed`` that are in these


class KeyIsAnother(Unavailable):
    """The log was written under another secret key; it is left as it is."""

    code = "SecretKeyIsAnother"
    tries = ("Set SHOAL_SECRET_KEY to the key of before, and start again.",)


def has_unsealed() -> bool:
    """Whether there are events that are not on the chain yet."""
    return Event.objects.filter(link=None).exists()


def seal() -> int:
    """Hang every event that was committed since onto the chain. Returns how many.

    Raises KeyIsAnother.
    """
    sealed = count = _seal_some()
    while count == BATCH:  # not until there are none: somebody may make a new one each time
        count = _seal_some()
        sealed += count
    if count:
        sealed += _seal_some()  # with nothing left to seal, the end is anchored
    return sealed


def _seal_some() -> int:
    try:
        return _seal_batch()
    except UNREADABLE:
        if not _blank_unreadable():
            raise
        return _seal_batch()


@transaction.atomic
def _seal_batch() -> int:
    head = _head()
    rows = list(Event.objects.filter(link=None).order_by("seq")[:BATCH])
    if not rows:
        _anchor(head)  # under the lock under which it was checked
        return 0
    for event in rows:
        head.link += 1
        head.digest = seals.digest_of(head.digest, head.link, event)
        event.link, event.digest = head.link, head.digest
    Event.objects.bulk_update(rows, ["link", "digest"])
    _save(head)
    return len(rows)


@transaction.atomic
def _blank_unreadable() -> int:
    """A row that cannot be read must not end the sealing of all others, which could then be removed
    unseen. Its seat stays, without a keyed hash: verifying tells that it was forged."""
    head = _kept()
    # why none behind an end that is not ours: it does not say what was sealed
    ours = head is not None and seals.same(head.mac, seals.head_mac(head))
    sealed = Event.objects.filter(link__gt=0, link__lte=head.link if head and ours else 0)
    found = 0
    for seq in Event.objects.exclude(pk__in=sealed.values("pk")).values_list("seq", flat=True):
        try:
            event = Event.objects.get(seq=seq)
            seals.digest_of(event.digest, 0, event)
            seals.event_fits(event)
        except UNREADABLE:
            found += Event.objects.filter(seq=seq).update(**BLANK, at=timezone.now())
    return found


def _anchor(head: AuditHead) -> None:
    now = timezone.now()
    # why not below zero: a clock that was set back must not put anchors off
    since = now - head.anchored_at if head.anchored_at is not None else ANCHOR_EVERY
    fresh = timedelta(0) <= since < ANCHOR_EVERY
    new = head.link - head.anchored
    if new <= 0 or (fresh and new < ANCHOR_EVENTS) or not anchors.append(head.link, head.digest):
        return
    head.anchored, head.anchored_at = head.link, now
    _save(head)


def _save(head: AuditHead) -> None:
    head.mac = seals.head_mac(head)
    head.save()


def begin() -> AuditHead:
    """The end of a chain that has no events yet."""
    head = AuditHead(pk=ONLY, digest=START)
    _save(head)
    return head


def _kept() -> AuditHead | None:
    """The end of the chain as the database has it, locked; one that cannot be read comes back
    empty, and so not as ours: it must not end the sealing either."""
    # why locked: two workers at once must not fork the chain
    row = AuditHead.objects.select_for_update().filter(pk=ONLY)
    if row.values_list("pk").first() is None:  # what fails here is the database, not the row
        return None
    try:
        with transaction.atomic():
            head = row.get()
            seals.same(head.mac, seals.head_mac(head))
    except UNREADABLE:
        return AuditHead(pk=ONLY, digest=START)
    return head


def _head() -> AuditHead:
    """The end of the chain, locked. One that is not ours leaves a mark in the log.

    Raises KeyIsAnother.
    """
    head = _kept()
    if head is not None and _key_is_another(head):
        raise KeyIsAnother(
            "The event log was written under another SHOAL_SECRET_KEY than this one: neither its "
            f"end nor any anchor in {settings.SHOAL_AUDIT_ANCHORS} fits. It is left as it is."
        )
    if head is None:
        head, kind = begin(), REMOVED
        told = "The end of the event log's chain was removed."
        _go_to_last(head)
    elif not seals.same(head.mac, seals.head_mac(head)):
        kind = CHANGED
        told = f"The end of the event log's chain, link {head.link}, was changed by somebody else."
        _go_to_last(head)
    elif Event.objects.filter(link__gt=head.link).exists():
        kind = REWOUND
        told = f"The end of the event log's chain, link {head.link}, is older than the chain."
        _go_on(head)
    else:
        return head
    events.record(
        actor="system",
        verb=BROKEN,
        subject="events",
        message=told,
        severity=Event.Severity.ERROR,
        data={"kind": kind},
    )
    return head


def _key_is_another(head: AuditHead) -> bool:
    """Whether nothing fits our key, outside the database too: who writes to the database alone
    cannot have made that so, and must not keep us from sealing."""
    if seals.same(head.mac, seals.head_mac(head)):
        return False
    try:
        outside = anchors.read(settings.SHOAL_AUDIT_ANCHORS)
    except OSError:
        return False
    if outside.by_link or outside.forged_line is None:
        return False
    keyed = Event.objects.exclude(mac="").filter(link__gt=0).order_by("link")
    return not any(seals.event_fits(event) for event in (keyed.first(), keyed.last()) if event)


def _go_to_last(head: AuditHead) -> None:
    """The chain goes on behind its last event, whether it holds or not: verifying tells."""
    Event.objects.filter(link__gt=LARGEST).update(link=None)
    head.link, head.digest = _archived_end()
    sealed = Event.objects.filter(link__gt=head.link).order_by("-link")
    if last := sealed.values_list("link", "digest").first():
        head.link, head.digest = last[0] or 0, last[1]
    # Sealed ones that have no keyed hash of their own are from before there were any.
    first = Event.objects.exclude(mac="").aggregate(first=Min("link"))["first"]
    head.boundary = head.link if first is None else first - 1


def _archived_end() -> tuple[int, str]:
    """The link at which the database's part of the chain begins, and its hash."""
    archive = archives.last()
    return (archive.last_link, archive.after) if archive else (0, START)


def _go_on(head: AuditHead) -> None:
    """Past what was sealed behind an older end; what only claims to be is sealed as it is found."""
    # why no iterator(): a row that cannot be read would leave PostgreSQL's cursor open behind the
    # savepoint that it is gone with, and closing it then ends the whole transaction
    while rows := list(Event.objects.filter(link__gt=head.link).order_by("link")[:BATCH]):
        for event in rows:
            digest = seals.digest_of(head.digest, head.link + 1, event)
            if event.link != head.link + 1 or not seals.same(event.digest, digest):
                Event.objects.filter(link__gt=head.link).update(link=None)
                return
            head.link, head.digest = event.link, digest


@transaction.atomic
def restored(reason: str) -> None:
    """Note that an older database was put back on purpose: anchors that it does not know of count
    no more. Raises OSError, KeyIsAnother."""
    outside = anchors.read(settings.SHOAL_AUDIT_ANCHORS).by_link
    known = (
        link
        for link in sorted(outside, reverse=True)
        if Event.objects.filter(link=link, digest=outside[link].digest).exists()
    )
    kept = next(known, _archived_end()[0])
    events.record(
        actor="system",
        verb=RESTORED,
        subject="events",
        message=f"The event log was put back to an earlier state: {reason}",
        severity=Event.Severity.WARNING,
    )
    seal()
    head = _head()
    if anchors.append(head.link, head.digest, restored=reason, kept=kept):
        head.anchored, head.anchored_at = head.link, timezone.now()
        _save(head)


def verify(kept: Path | None = None, opened: archives.Opened | None = None) -> Verification:
    """Walk the whole chain, after sealing what is new. The first break ends the walk.

    ``kept`` is a copy of the anchors, which is then asked instead of our own. ``opened`` opens the
    files of archives; without it their seals are compared, and the files are not read.
    Raises Unavailable where these files cannot be reached.
    """
    try:
        seal()
    except KeyIsAnother as error:
        other = Break(OTHER_KEY, 0, None, " ".join((error.message, *error.hints)))
        waiting = Event.objects.filter(link=None).count()
        return Verification(False, Event.objects.count() - waiting, waiting, "", 0, 0, other)
    path = kept or settings.SHOAL_AUDIT_ANCHORS
    unread: Break | None = None
    with transaction.atomic():
        # why locked: an anchor of an end that we have not seen would look like an older log
        head = _kept() or AuditHead()
        try:
            outside = anchors.read(path)
        except OSError as error:
            outside = Anchors({}, 0, None)
            reason = f"The anchors in {path} cannot be read: {error}."
            unread = Break(REMOVED, head.link, None, reason)
    if not seals.same(head.mac, seals.head_mac(head)):
        reason = "The end of the event log's chain was changed while it was being looked at."
        unread = Break(CHANGED, head.link, None, reason)
    broken = _walked(head, outside, opened) or unread or _end(head, outside)
    return Verification(
        ok=broken is None,
        sealed=head.link,
        unsealed=Event.objects.filter(link=None).count(),
        head=head.digest,
        anchors=len(outside.by_link),
        restores=outside.restores,
        broken=broken,
        archives=EventArchive.objects.count(),
        archived=EventArchive.objects.aggregate(events=Sum("events", default=0))["events"],
    )


def _walked(head: AuditHead, outside: Anchors, opened: archives.Opened | None) -> Break | None:
    """Once more where events went to an archive meanwhile: they were looked for in the database."""
    newest = archives.last()
    found = _walk(head, outside, opened)
    while found and (last := archives.last()) != newest:
        newest, found = last, _walk(head, outside, opened)
    return found


def _walk(head: AuditHead, outside: Anchors, opened: archives.Opened | None) -> Break | None:
    way = Walk(head.boundary, outside.by_link)
    if found := archives.walk(way, opened):
        return found
    try:
        here = Q(link__lt=1) | Q(link__gt=way.link, link__lte=head.link)
        for event in Event.objects.filter(here).order_by("link").iterator(BATCH):
            if found := way.step(event):
                return found
    except UNREADABLE as error:
        reason = f"An event from link {way.link or 1} on cannot be read: it was changed ({error})."
        return Break(CHANGED, way.link or 1, None, reason)
    if (head.link, head.digest) != (way.link, way.digest):
        reason = f"The events from link {way.link + 1} to {head.link} are gone."
        return Break(REMOVED, way.link + 1, None, reason)
    return None


def _end(head: AuditHead, outside: Anchors) -> Break | None:
    """What the walk itself does not see."""
    if AuditHead.objects.exclude(pk=ONLY).exists():
        return Break(FORGED, head.link, None, "The chain has a second end.")
    copied = Event.objects.exclude(mac="").values("mac").annotate(rows=Count("seq"), seq=Max("seq"))
    if twice := copied.filter(rows__gt=1).order_by("seq").first():
        link = Event.objects.values_list("link", flat=True).get(seq=twice["seq"])
        reason = f"Event {twice['seq']} is a copy of an earlier one."
        return Break(FORGED, link or head.link, twice["seq"], reason)
    if outside.forged_line is not None:
        reason = f"Line {outside.forged_line} of the anchors is not what Shoal wrote."
        return Break(FORGED, head.link, None, reason)
    last = outside.last
    if last is not None and last.link > head.link:
        reason = f"Link {last.link} was anchored at {last.at}, the log ends at {head.link}."
        return Break(REWOUND, head.link + 1, None, f"{reason} An older log was put back.")
    if head.anchored and (last is None or last.link < head.anchored):
        reason = f"The anchors end before link {head.anchored}: the file was cut, or removed."
        return Break(REMOVED, head.anchored, None, reason)
    return None
