"""Uploads of several files, told by path and SHA-256 beforehand: only what is not here is sent.

Files arrive each at offsets of its own, so that several may be sent at a time. Bytes are believed
once ingest has hashed them, in a worker.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.core.errors import Invalid
from controlplane.registry import selectors, storage
from controlplane.registry.archive import IGNORED, Names, Refused, safe_path
from controlplane.registry.errors import (
    ChecksumMismatch,
    IngestFailed,
    UploadOffsetConflict,
    UploadTooLarge,
)
from controlplane.registry.models import AnnouncedFile, Blob, Upload
from controlplane.registry.services import room
from controlplane.registry.services.upload_progress import (
    announced,
    arrived_bytes,
    arrived_keep,
    contents_stored,
    files_of,
    is_folder,
    part_name,
    progress_of,
)
from controlplane.registry.services.uploads import check_growing, upload_begin
from controlplane.registry.stores import blob_store
from controlplane.registry.types import (
    EMPTY_SHA256,
    MAX_CHUNK_BYTES,
    FileEntry,
    FileProgress,
)


@transaction.atomic
def file_list_create(
    *, filename: str, files: Sequence[FileEntry], user: User, project: str = ""
) -> Upload:
    """Announce files. A path that ends with a slash is a folder.

    Raises Invalid, UploadTooLarge, TooManyUploads, UploadQuotaExceeded, DiskFull, ProjectNotFound,
    ProjectArchived, ProjectQuotaExceeded.
    """
    kept = _checked(files)
    sizes = {entry["sha256"]: entry["size"] for entry in kept if not is_folder(entry["path"])}
    total = sum(entry["size"] for entry in kept)
    if total > settings.SHOAL_MAX_UNPACKED_BYTES:
        raise UploadTooLarge(
            f"The files have {total} bytes; {settings.SHOAL_MAX_UNPACKED_BYTES} are allowed.",
            field="files",
        )
    room.alone()
    # why now: blobs that lay unused must not be collected before this upload uses them
    Blob.objects.filter(pk__in=sizes).update(seen_at=timezone.now())
    stored = contents_stored(sizes)
    missing = {sha256 for sha256, size in sizes.items() if size and sha256 not in stored}
    to_come = sum(sizes[sha256] for sha256 in missing)
    upload = upload_begin(
        filename=filename,
        size=total,
        to_come=to_come,
        user=user,
        project=project,
        files={"files": len(kept), "missing": len(missing)},
    )
    AnnouncedFile.objects.bulk_create(
        AnnouncedFile(upload=upload, arrived=_arrived(entry, missing), **entry) for entry in kept
    )
    return upload


def _arrived(entry: FileEntry, missing: Collection[str]) -> int:
    return 0 if entry["sha256"] in missing and not is_folder(entry["path"]) else entry["size"]


def _checked(files: Sequence[FileEntry]) -> list[FileEntry]:
    """With plain relative paths, and without what tools leave behind."""
    names, kept = Names(), []
    sizes: dict[str, int] = {}
    try:
        for entry in files:
            path = safe_path(entry["path"])
            if not path.parts or IGNORED.intersection(path.parts):
                continue
            folder = is_folder(entry["path"])
            names.claim(path, is_folder=folder)
            if not folder and sizes.setdefault(entry["sha256"], entry["size"]) != entry["size"]:
                raise Invalid(
                    f"{path} has the SHA-256 of another file, but another size.", field="files"
                )
            # why: of no byte nothing is missing, and what is stored under the digest would be given
            if not folder and not entry["size"] and entry["sha256"] != EMPTY_SHA256:
                raise Invalid(
                    f"{path} has the size 0, and a SHA-256 other than that of an empty file.",
                    field="files",
                    hints=("Say its true size.",),
                )
            kept.append(entry | {"path": f"{path}/" if folder else str(path)})
    except Refused as refused:
        raise Invalid(
            f"{refused}", code=str(refused.answer["code"]), field="files",
            hints=tuple(refused.answer["hints"]), extra={"path": refused.answer["detail"]},
        ) from refused  # fmt: skip
    if not sizes:
        raise Invalid("The list names no file.", field="files")
    return kept


def file_append(
    *,
    upload_id: str,
    sha256: str,
    offset: int,
    source: storage.Readable,
    checksum: bytes | None,
) -> FileProgress:
    """Write one chunk of one file at ``offset``, all of it or none of it. Raises what
    ``chunk_append`` raises, and FileNotAnnounced."""
    check_growing(selectors.upload_get(upload_id))
    announced(upload_id, sha256)
    room.chunk_check()
    with storage.locked_part(part_name(upload_id, sha256)) as file:
        # why again: ingest may have begun while this waited for the lock
        check_growing(selectors.upload_get(upload_id))
        row = announced(upload_id, sha256)
        arrived = arrived_bytes(row)
        if arrived != row.arrived:
            arrived_keep(row, arrived)
            row.arrived = arrived
        if offset != arrived:
            raise UploadOffsetConflict(
                f"The next byte to send is {arrived}, not {offset}.",
                hints=("Continue from `offset`.",),
                extra={"offset": arrived},
            )
        limit = min(MAX_CHUNK_BYTES, row.size - offset)
        written, digest = storage.write_at(file, offset, source, limit=limit)
        if written > limit:
            storage.cut(file, offset)
            raise UploadTooLarge(
                f"The chunk goes beyond the announced size of {row.size} bytes, or is too "
                f"large: {MAX_CHUNK_BYTES} bytes at most.",
                extra={"offset": offset},
            )
        if checksum is not None and checksum != digest:
            storage.cut(file, offset)
            raise ChecksumMismatch(
                f"The chunk at {offset} arrived damaged and was thrown away.",
                hints=("Send it again.",),
                extra={"offset": offset},
            )
        arrived_keep(row, offset + written)
    return progress_of(row, offset + written)


def files_verify(upload: Upload, *, tick: Callable[[int], None]) -> str:
    """Hash what was sent and keep it as blobs; returns what was done. Raises ChecksumMismatch.

    why kept already: when the inspection refuses the model, the next try sends only what changed.
    """
    hashed = known = 0
    for sha256, row in {row.sha256: row for row in files_of(upload.pk)}.items():
        part = storage.part_path(part_name(upload.pk, sha256))
        with storage.blob_lock(exclusive=False):
            # why also what is known: who sends bytes must have them, or knowing a digest were
            # enough to get another project's file
            if part.exists() or blob_store().size(sha256) is None:
                _verify(part, row, tick)
                hashed += 1
            else:
                known += 1
            # why the row before the bytes: the lock does not reach another machine, the row does
            Blob.objects.update_or_create(
                sha256=sha256, defaults={"size": row.size, "seen_at": timezone.now()}
            )
            if blob_store().size(sha256) is None:
                blob_store().put(part, sha256)
        part.unlink(missing_ok=True)
    return f"{hashed} file(s) hashed, {known} were here already."


def _verify(part: Path, row: AnnouncedFile, tick: Callable[[int], None]) -> None:
    if row.sha256 == EMPTY_SHA256:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    if not part.exists():
        raise IngestFailed(
            f"The bytes of {row.path} are missing on the server's disk.",
            code="UploadIncomplete",
            hints=("Upload the files again.",),
        )
    found = storage.sha256_of(part, tick=tick)
    if found != row.sha256:
        part.unlink()
        raise ChecksumMismatch(
            f"{row.path} has SHA-256 {found}, announced was {row.sha256}.",
            hints=("The file changed or was damaged on its way. Upload it again.",),
        )


def files_lay_out(upload: Upload, folder: Path) -> None:
    """The tree of the list below ``folder``, out of blobs."""
    for row in upload.announced.all():
        place = folder / row.path
        if is_folder(row.path):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        blob_store().place(row.sha256, place)
