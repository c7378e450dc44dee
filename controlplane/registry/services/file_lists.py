"""Uploads of several files, told by path and SHA-256 beforehand: only what is not here is sent.

Files arrive each at offsets of its own, so that several may be sent at a time. Bytes are believed
once ingest has hashed them, in a worker.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.core import events
from controlplane.core.errors import Invalid
from controlplane.registry import selectors, storage
from controlplane.registry.archive import IGNORED, Names, Refused, safe_path
from controlplane.registry.errors import (
    ChecksumMismatch,
    IngestFailed,
    UploadOffsetConflict,
    UploadTooLarge,
)
from controlplane.registry.models import Blob, Upload
from controlplane.registry.services import room
from controlplane.registry.services.arrivals import (
    announced,
    file_progress,
    files_missing,
    is_folder,
    part_name,
    progress_of,
)
from controlplane.registry.services.uploads import check_growing, plain_name
from controlplane.registry.stores import blob_store
from controlplane.registry.types import (
    EMPTY_SHA256,
    MAX_CHUNK_BYTES,
    FileEntry,
    FileProgress,
    steps_new,
)


@transaction.atomic
def file_list_create(*, filename: str, files: Sequence[FileEntry], user: User) -> Upload:
    """Announce files. A path that ends with a slash is a folder.

    Raises Invalid, UploadTooLarge, TooManyUploads, UploadQuotaExceeded, DiskFull.
    """
    kept = _checked(files)
    sizes = {entry["sha256"]: entry["size"] for entry in kept if not is_folder(entry)}
    total = sum(entry["size"] for entry in kept)
    if total > settings.SHOAL_MAX_UNPACKED_BYTES:
        raise UploadTooLarge(
            f"The files have {total} bytes; {settings.SHOAL_MAX_UNPACKED_BYTES} are allowed.",
            field="files",
        )
    room.alone()
    # why now: blobs that lay unused must not be collected before this upload uses them
    Blob.objects.filter(pk__in=sizes).update(seen_at=timezone.now())
    upload = Upload(
        id=uuid4().hex,
        filename=plain_name(filename),
        size=total,
        files=kept,
        steps=steps_new(),
        created_by=user,
        expires_at=timezone.now() + timedelta(seconds=settings.SHOAL_UPLOAD_TTL_S),
    )
    missing = files_missing(upload)
    to_come = sum(entry["size"] for entry in missing)
    room.upload_check(user=user, size=total, to_come=to_come)
    upload.offset = total - to_come
    upload.save()
    events.record(
        actor=user.username,
        verb="upload.started",
        subject=f"upload/{upload.pk}",
        message=f"Upload of {upload.filename} started",
        data={"size": total, "files": len(kept), "missing": len(missing)},
    )
    return upload


def _checked(files: Sequence[FileEntry]) -> list[FileEntry]:
    """With plain relative paths, and without what tools leave behind."""
    names, kept = Names(), []
    sizes: dict[str, int] = {}
    try:
        for entry in files:
            path = safe_path(entry["path"])
            if not path.parts or IGNORED.intersection(path.parts):
                continue
            folder = is_folder(entry)
            names.claim(path, is_folder=folder)
            if not folder and sizes.setdefault(entry["sha256"], entry["size"]) != entry["size"]:
                raise Invalid(
                    f"{path} has the SHA-256 of another file, but another size.", field="files"
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
    entry = announced(check_growing(selectors.upload_get(upload_id)), sha256)
    room.chunk_check()
    with storage.locked_part(part_name(upload_id, sha256)) as file:
        # why again: ingest may have begun while this waited for the lock
        upload = check_growing(selectors.upload_get(upload_id))
        arrived = file_progress(upload_id=upload_id, sha256=sha256)["offset"]
        if offset != arrived:
            raise UploadOffsetConflict(
                f"The next byte to send is {arrived}, not {offset}.",
                hints=("Continue from `offset`.",),
                extra={"offset": arrived},
            )
        limit = min(MAX_CHUNK_BYTES, entry["size"] - offset)
        written, digest = storage.write_at(file, offset, source, limit=limit)
        if written > limit:
            storage.cut(file, offset)
            raise UploadTooLarge(
                f"The chunk goes beyond the announced size of {entry['size']} bytes, or is too "
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
    left = sum(missing["size"] - missing["offset"] for missing in files_missing(upload))
    Upload.objects.filter(pk=upload_id).update(offset=upload.size - left, updated_at=timezone.now())
    return progress_of(entry, offset + written)


def files_verify(upload: Upload, *, tick: Callable[[int], None]) -> str:
    """Hash what was sent and keep it as blobs; returns what was done. Raises ChecksumMismatch.

    why kept already: when the inspection refuses the model, the next try sends only what changed.
    """
    sent = known = 0
    for sha256, entry in {item["sha256"]: item for item in upload.files}.items():
        if is_folder(entry):
            continue
        part = storage.part_path(part_name(upload.pk, sha256))
        with storage.blob_lock(exclusive=False):
            if blob_store().size(sha256) is None:
                _verify(part, entry, tick)
            # why the row before the bytes: the lock does not reach another machine, the row does
            Blob.objects.update_or_create(
                sha256=sha256, defaults={"size": entry["size"], "seen_at": timezone.now()}
            )
            if blob_store().size(sha256) is None:
                blob_store().put(part, sha256)
                sent += 1
            else:
                known += 1
        part.unlink(missing_ok=True)
    return f"{sent} file(s) hashed, {known} were here already."


def _verify(part: Path, entry: FileEntry, tick: Callable[[int], None]) -> None:
    if entry["sha256"] == EMPTY_SHA256:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    if not part.exists():
        raise IngestFailed(
            f"The bytes of {entry['path']} are missing on the server's disk.",
            code="UploadIncomplete",
            hints=("Upload the files again.",),
        )
    found = storage.sha256_of(part, tick=tick)
    if found != entry["sha256"]:
        part.unlink()
        raise ChecksumMismatch(
            f"{entry['path']} has SHA-256 {found}, announced was {entry['sha256']}.",
            hints=("The file changed or was damaged on its way. Upload it again.",),
        )


def files_lay_out(upload: Upload, folder: Path) -> None:
    """The tree of the list below ``folder``, out of blobs."""
    for entry in upload.files:
        place = folder / entry["path"]
        if is_folder(entry):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        blob_store().place(entry["sha256"], place)
