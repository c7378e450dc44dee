"""What of a list of files has arrived: blobs that are stored, and parts that still grow.

The rows say how much; the disk is right where they differ, and they follow when a chunk of that
file comes, and when the upload is completed.
"""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from controlplane.accounts.scope import scope_now
from controlplane.core.models import EventArchive
from controlplane.registry import storage
from controlplane.registry.errors import FileNotAnnounced, UploadIncomplete
from controlplane.registry.models import AnnouncedFile, Blob, ModelFile, UnpackedFile, Upload
from controlplane.registry.stores import blob_store
from controlplane.registry.types import FileProgress


def is_folder(path: str) -> bool:
    return path.endswith("/")


def files_of(upload_id: str) -> QuerySet[AnnouncedFile]:
    """Without the folders."""
    return AnnouncedFile.objects.filter(upload=upload_id).exclude(path__endswith="/")


def progress_of(row: AnnouncedFile, offset: int) -> FileProgress:
    return FileProgress(path=row.path, size=row.size, sha256=row.sha256, offset=offset)


def part_name(upload_id: str, sha256: str) -> str:
    return f"{upload_id}.{sha256}"


def announced(upload_id: str, sha256: str) -> AnnouncedFile:
    """Raises FileNotAnnounced."""
    row = files_of(upload_id).filter(sha256=sha256).first()
    if row is None:
        raise FileNotAnnounced(
            "This upload has no file with that SHA-256.",
            hints=("`files` of the upload lists them.",),
        )
    return row


def contents_stored(hashes: Iterable[str]) -> set[str]:
    """Those of these contents that are blobs already: the store is asked only after these.

    For who may not see all projects, only what their own hold: a digest alone gives nobody a file.
    For nobody an archive of events, whose digest the event log tells.
    """
    archived = EventArchive.objects.filter(sha256=OuterRef("pk"))
    blobs = Blob.objects.filter(~Exists(archived), pk__in=hashes)
    known = set(blobs.values_list("pk", flat=True))
    if scope_now() is not None:
        rows = [kind.objects.filter(sha256__in=known) for kind in (ModelFile, UnpackedFile)]
        known = {sha256 for each in rows for sha256 in each.values_list("sha256", flat=True)}
    return known - blob_store().missing(known) if known else known


def files_missing(upload_id: str) -> list[FileProgress]:
    """What is still to be sent, each content once, and how much of it has arrived."""
    rows = files_of(upload_id).filter(arrived__lt=F("size"))
    found = {row.sha256: row for row in rows}
    stored = contents_stored(found)
    return [progress_of(row, row.arrived) for key, row in found.items() if key not in stored]


def arrived_bytes(row: AnnouncedFile) -> int:
    """Of one file, by the store and the disk."""
    if row.arrived == row.size or contents_stored([row.sha256]):
        return row.size
    return _part_bytes(row)


def arrived_keep(row: AnnouncedFile, arrived: int) -> None:
    """With the file, and in the sum that the upload shows, which has each content once."""
    same = files_of(row.upload_id).filter(sha256=row.sha256, arrived=row.arrived)
    with transaction.atomic():
        if same.update(arrived=arrived):
            Upload.objects.filter(pk=row.upload_id).update(
                offset=F("offset") + (arrived - row.arrived), updated_at=timezone.now()
            )


def check_all_here(upload: Upload) -> None:
    """By the store and the disk, for every file. Raises UploadIncomplete."""
    rows = {row.sha256: row for row in files_of(upload.pk)}
    stored = contents_stored(rows)
    missing = []
    for sha256, row in rows.items():
        arrived = row.size if sha256 in stored else _part_bytes(row)
        if arrived != row.arrived:
            arrived_keep(row, arrived)
        if arrived < row.size:
            missing.append(sha256)
    if missing:
        raise UploadIncomplete(
            f"{len(missing)} of {upload.announced.count()} files have not arrived whole.",
            hints=("`files` of the upload lists them; send the rest, then complete again.",),
            extra={"missing": missing[:100]},
        )


def _part_bytes(row: AnnouncedFile) -> int:
    return min(storage.part_size(part_name(row.upload_id, row.sha256)), row.size)
