"""Events of long ago leave the database for archives, and can be read and verified there.

An archive is stored, then read back and compared with the chain, and only then are its events
deleted. Its row is written between the two, so that a run which ended in between is gone on with.
"""

import logging
from datetime import UTC, datetime, time, timedelta
from itertools import takewhile
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.selectors import ABOUT_PEOPLE
from controlplane.core import archives, audit, events
from controlplane.core.archives import ArchiveBroken
from controlplane.core.chain import START, Walk
from controlplane.core.models import AuditHead, Event, EventArchive
from controlplane.events.errors import EventArchiveBroken
from controlplane.registry import storage
from controlplane.registry.models import Blob
from controlplane.registry.stores import blob_store

logger = logging.getLogger(__name__)

ARCHIVED: Final = "audit.archived"


def opened(sha256: str) -> BinaryIO:
    """The file of an archive. Raises FileNotFoundError, Unavailable."""
    return blob_store().open(sha256)


def verify(kept: Path | None = None) -> audit.Verification:
    """Walk the chain over archives and database. Raises Unavailable."""
    return audit.verify(kept, opened)


def events_archive(*, now: datetime) -> int:
    """Move events of days that ended longer ago than is kept. Returns how many left the database.

    A log that is broken stays as it is: what shows the break must not leave the database.
    """
    removed = 0
    for row in EventArchive.objects.filter(removed_at=None).order_by("first_link"):
        if not (taken := _remove(row)):
            return removed
        removed += taken
    if not settings.SHOAL_EVENT_RETENTION_DAYS:
        return removed
    # why whole days: who stored a file and ended then finds the same events, and so the same bytes
    day = now.astimezone(UTC).date() - timedelta(days=settings.SHOAL_EVENT_RETENTION_DAYS)
    until = datetime.combine(day, time.min, UTC)
    if not _due(until):
        return removed
    # why without the files: what is about to be archived is here; theirs were compared once
    if (broken := audit.verify().broken) is not None:
        logger.error("No events are archived: the event log is broken. %s", broken.reason)
        return removed
    while rows := _due(until):
        taken = _remove(_store(rows))
        if not taken:
            break
        removed += taken
    return removed


def _due(until: datetime) -> list[Event]:
    """The next ones to go. The chain's last event stays: sealing goes on from it."""
    archive = archives.last()
    end = archive.last_link if archive else 0
    head = AuditHead.objects.filter(pk=audit.ONLY).values_list("link", flat=True).first() or 0
    rows = Event.objects.filter(link__gt=end, link__lt=head).order_by("link")
    return list(takewhile(lambda event: event.at < until, rows[: archives.MOST]))


def _store(rows: list[Event]) -> EventArchive:
    archive = archives.last()
    row, content = archives.made(rows, archive.after if archive else START)
    folder = Path(settings.SHOAL_UPLOAD_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=folder, prefix="events-", delete=False) as file:
        path = Path(file.name)
        file.write(content)
    try:
        with storage.blob_lock(exclusive=False):
            # why a row of it: a backup takes what has one
            Blob.objects.update_or_create(
                sha256=row.sha256, defaults={"size": row.size, "seen_at": timezone.now()}
            )
            blob_store().put(path, row.sha256)
            # why not saved at once: of two workers one does
            kept, _ = EventArchive.objects.get_or_create(
                first_link=row.first_link,
                defaults={
                    field.name: getattr(row, field.name)
                    for field in EventArchive._meta.concrete_fields
                    if field.name not in ("id", "first_link", "created_at")
                },
            )
    finally:
        path.unlink(missing_ok=True)
    return kept


def _remove(row: EventArchive) -> int:
    """Delete what the archive has, after reading all of it back. Returns how many events."""
    boundary = AuditHead.objects.values_list("boundary", flat=True).get(pk=audit.ONLY)
    way = Walk(boundary, {}, link=row.first_link - 1, digest=row.before)
    if (found := archives.check(row, way, opened)) is not None:
        logger.error("Events stay in the database: %s", found.reason)
        return 0
    with transaction.atomic():
        # why compared: of two workers one deletes, and tells
        mine = EventArchive.objects.filter(pk=row.pk, removed_at=None)
        if not mine.update(removed_at=timezone.now()):
            return 0
        removed, _ = archives.rows_of(row).delete()
        events.record(
            actor="system",
            verb=ARCHIVED,
            subject="events",
            message=f"{row.events} events, {row.first_seq} to {row.last_seq}, went to an archive",
            data={
                "archive": row.pk,
                "first_link": row.first_link,
                "last_link": row.last_link,
                "after": row.after,
                "sha256": row.sha256,
            },
        )
    logger.info("Archived %d events, links %d to %d", removed, row.first_link, row.last_link)
    return int(removed)


def archived_events(row: EventArchive, *, people: bool) -> list[Event]:
    """The events of an archive, in order; those about ``people`` only for who may read these.

    Raises EventArchiveBroken, Unavailable.
    """
    try:
        found = archives.read(row, opened)
    except ArchiveBroken as error:
        raise EventArchiveBroken(error.found.reason) from error
    return [event for event in found if people or not event.subject.startswith(ABOUT_PEOPLE)]
