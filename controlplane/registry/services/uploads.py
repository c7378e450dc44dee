"""Uploads: started, grown by offset, completed, dropped."""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.accounts.projects import project_for
from controlplane.core import events
from controlplane.core.errors import Invalid
from controlplane.core.jobs import enqueue_on_commit
from controlplane.registry import selectors, storage
from controlplane.registry.archive import MAX_NAME_BYTES
from controlplane.registry.errors import (
    ChecksumMismatch,
    UploadIncomplete,
    UploadNotFound,
    UploadOffsetConflict,
    UploadStateConflict,
    UploadTooLarge,
)
from controlplane.registry.models import Upload
from controlplane.registry.services import room
from controlplane.registry.services.upload_progress import check_all_here
from controlplane.registry.states import UPLOADS, UploadCause, UploadState
from controlplane.registry.types import MAX_CHUNK_BYTES, Lineage, steps_new

ORPHAN_AGE_S = 3600


@transaction.atomic
def upload_create(
    *, filename: str, size: int, sha256: str, user: User, project: str = ""
) -> Upload:
    """Announce a file of ``size`` bytes, whose model will belong to ``project``.

    Raises UploadTooLarge, TooManyUploads, UploadQuotaExceeded, DiskFull, Invalid, ProjectNotFound,
    ProjectArchived, ProjectQuotaExceeded.
    """
    if size > settings.SHOAL_MAX_UPLOAD_BYTES:
        raise UploadTooLarge(
            f"The file has {size} bytes; {settings.SHOAL_MAX_UPLOAD_BYTES} are allowed.",
            field="size",
            hints=("An administrator may raise SHOAL_MAX_UPLOAD_BYTES.",),
        )
    room.alone()
    return upload_begin(
        filename=filename, size=size, to_come=size, sha256=sha256, user=user, project=project
    )


def upload_begin(
    *,
    filename: str,
    size: int,
    to_come: int,
    user: User,
    project: str,
    sha256: str = "",
    files: Mapping[str, int] | None = None,
    lineage: Lineage | None = None,
    sealed_source: str = "",
) -> Upload:
    """An upload of ``size`` bytes, ``to_come`` of which are not here yet; ``files``, its counts,
    go into the event. With a ``lineage`` the server is to fetch it. Call it ``room.alone()``.
    Raises as ``upload_create``."""
    chosen = project_for(project)
    room.upload_check(user=user, project=chosen, size=size, to_come=to_come)
    upload = Upload.objects.create(
        id=uuid4().hex,
        project_id=chosen,
        filename=plain_name(filename),
        size=size,
        offset=size - to_come,
        sha256_expected=sha256,
        sha256=sha256,
        state=UploadState.FETCHING if lineage else UploadState.UPLOADING,
        steps=steps_new(fetch=bool(lineage)),
        lineage=lineage or {},
        sealed_source=sealed_source,
        heartbeat_at=timezone.now() if lineage else None,
        created_by=user,
        expires_at=timezone.now() + timedelta(seconds=settings.SHOAL_UPLOAD_TTL_S),
    )
    events.record(
        actor=user.username,
        verb="upload.started",
        subject=f"upload/{upload.pk}",
        message=f"Import of {upload.filename} from {lineage['address']} started"
        if lineage
        else f"Upload of {upload.filename} started",
        data={"lineage": lineage} if lineage else {"size": size, **(files or {})},
    )
    return upload


def plain_name(filename: str) -> str:
    """Raises Invalid for what is no name."""
    name = filename.replace("\\", "/").rsplit("/", 1)[-1].strip()
    if not name or name in {".", ".."} or not name.isprintable():
        raise Invalid("The file needs a plain name.", field="filename")
    if (size := len(name.encode())) > MAX_NAME_BYTES:
        raise Invalid(
            f"The file's name has {size} bytes, expected at most {MAX_NAME_BYTES}.",
            field="filename",
        )
    return name


def chunk_append(
    *, upload_id: str, offset: int, source: storage.Readable, checksum: bytes | None
) -> Upload:
    """Write one chunk at ``offset``, all of it or none of it.

    ``checksum`` is the SHA-256 of the chunk, if the client sent one. Raises UploadOffsetConflict
    (with the true offset), ChecksumMismatch, UploadTooLarge, DiskFull; after each the upload goes
    on from where it was.
    """
    if check_growing(selectors.upload_get(upload_id)).announced.exists():
        raise Invalid("The bytes of a list of files go to `files/{sha256}` of the upload.")
    room.chunk_check()
    with storage.locked_part(upload_id) as file:
        upload = check_growing(selectors.upload_get(upload_id))
        _check_offset(upload, offset)
        limit = min(MAX_CHUNK_BYTES, upload.size - offset)
        written, digest = storage.write_at(file, offset, source, limit=limit)
        if written > limit:
            storage.cut(file, offset)
            raise UploadTooLarge(_too_much(upload, offset), extra={"offset": offset})
        if checksum is not None and checksum != digest:
            storage.cut(file, offset)
            raise ChecksumMismatch(
                f"The chunk at {offset} arrived damaged and was thrown away.",
                hints=("Send it again.",),
                extra={"offset": offset},
            )
        # why compare-and-set under a lock: the lock may not reach a web process on another machine.
        moved = Upload.objects.filter(
            pk=upload_id, offset=offset, state=Upload.State.UPLOADING
        ).update(offset=offset + written, updated_at=timezone.now())
    if not moved:
        _check_offset(selectors.upload_get(upload_id), offset)
        raise UploadStateConflict("The upload was completed while this chunk arrived.")
    upload.offset = offset + written
    return upload


def _too_much(upload: Upload, offset: int) -> str:
    if upload.size - offset < MAX_CHUNK_BYTES:
        return f"The chunk goes beyond the announced size of {upload.size} bytes."
    return f"A chunk may hold {MAX_CHUNK_BYTES} bytes at most."


def check_growing(upload: Upload) -> Upload:
    if upload.state != Upload.State.UPLOADING:
        raise UploadStateConflict(
            f"The upload is {upload.state}: it takes no more bytes.", extra={"state": upload.state}
        )
    return upload


def _check_offset(upload: Upload, offset: int) -> None:
    # why: after a power cut the file may be behind the row; the file is right.
    true = min(upload.offset, storage.part_size(upload.id))
    if true < upload.offset:
        Upload.objects.filter(pk=upload.pk, offset=upload.offset).update(offset=true)
    if offset != true:
        raise UploadOffsetConflict(
            f"The next byte to send is {true}, not {offset}.",
            hints=("Continue from `offset`.",),
            extra={"offset": true},
        )


def upload_complete(*, upload_id: str, sha256: str, actor: str) -> Upload:
    """Hand the file to ingest; a second call changes nothing. Raises UploadIncomplete."""
    upload = selectors.upload_get(upload_id)
    if upload.state != Upload.State.UPLOADING:
        return upload
    if upload.announced.exists():
        check_all_here(upload)
    elif upload.offset < upload.size:
        raise UploadIncomplete(
            f"{upload.offset} of {upload.size} bytes have arrived.",
            hints=("Send the rest from `offset`, then complete again.",),
            extra={"offset": upload.offset},
        )
    if sha256 and upload.sha256_expected and sha256 != upload.sha256_expected:
        raise ChecksumMismatch(
            "The checksum differs from the one that was announced.", field="sha256"
        )
    expected = sha256 or upload.sha256_expected
    with transaction.atomic():
        won = UPLOADS.write(
            Upload.objects.filter(pk=upload_id),
            UploadCause.COMPLETE,
            sha256_expected=expected,
            sha256=expected,
            steps=steps_new(),
            heartbeat_at=timezone.now(),
            updated_at=timezone.now(),
        )
        if won:
            events.record(
                actor=actor,
                verb="upload.completed",
                subject=f"upload/{upload_id}",
                message=f"All bytes of {upload.filename} arrived",
            )
            enqueue_on_commit("registry.ingest", queue="ingest", upload_id=upload_id)
    upload.refresh_from_db()
    return upload


def upload_keep(*, upload_id: str) -> None:
    """Its time to live begins anew; nothing happens for one that is gone."""
    expires_at = timezone.now() + timedelta(seconds=settings.SHOAL_UPLOAD_TTL_S)
    Upload.objects.filter(pk=upload_id).update(expires_at=expires_at)


@transaction.atomic
def upload_delete(*, upload_id: str, actor: str) -> None:
    """Drop it in any state; an ingest that runs notices and stops. Registered models stay."""
    upload = selectors.upload_get(upload_id)
    upload.delete()
    events.record(
        actor=actor,
        verb="upload.deleted",
        subject=f"upload/{upload_id}",
        message=f"Upload of {upload.filename} deleted",
    )
    transaction.on_commit(lambda: storage.upload_files_remove(upload_id))


def uploads_expire(*, now: datetime) -> int:
    """Drop uploads past their time, and files that no row knows any more. Returns how many rows."""
    expired = 0
    may = UPLOADS.sources(UploadCause.EXPIRE)
    for upload in Upload.objects.filter(expires_at__lt=now, state__in=may):
        try:
            upload_delete(upload_id=upload.pk, actor="system")
        except UploadNotFound:  # its owner was quicker
            continue
        expired += 1
    known = set(Upload.objects.values_list("pk", flat=True))
    for upload_id in storage.upload_ids_on_disk() - known:
        part = storage.part_path(upload_id)
        if not part.exists() or time.time() - part.stat().st_mtime > ORPHAN_AGE_S:
            storage.upload_files_remove(upload_id)
    return expired
