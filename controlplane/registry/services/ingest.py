"""From the bytes of a complete upload to an inspected repository of blobs; it always ends.

1. Claim the upload: whoever holds the claim works; a claim that stops beating may be taken over.
2. Verify the bytes, unpack them, arrange a repository, have it inspected, store the blobs.
3. Write the outcome, ready or failed, only while the claim holds. Remove every temporary file.
"""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from controlplane.core import events
from controlplane.core.errors import DomainError
from controlplane.core.models import Event
from controlplane.registry import inspector, layout, storage, unpacker
from controlplane.registry.errors import ChecksumMismatch, IngestFailed
from controlplane.registry.formats import Format, detect, single_name
from controlplane.registry.models import Blob, UnpackedFile, Upload
from controlplane.registry.selectors import ACTIVE
from controlplane.registry.services import imports, room
from controlplane.registry.services.file_lists import files_lay_out, files_verify
from controlplane.registry.states import (
    UPLOADS,
    StepCause,
    StepStatus,
    UploadCause,
    UploadState,
    step_after,
)
from controlplane.registry.stores import blob_store
from controlplane.registry.stores.disk import full_disk_said, link_or_copy
from controlplane.registry.types import (
    FETCH,
    FileEntry,
    Inspection,
    InspectionProblem,
    Step,
    manifest_digest,
    steps_new,
)

logger = logging.getLogger(__name__)

BEAT_S = 2.0
STALE = timedelta(seconds=30)


class Superseded(Exception):
    """The upload was deleted, or another worker took over: stop without a word."""


class Ingest:
    """One attempt at one upload. Every write to the row proves the claim and counts as a beat."""

    def __init__(self, upload: Upload, claim: str) -> None:
        self.upload = upload
        self.claim = claim
        self.folder = storage.work_path(upload.pk, claim)
        self._beat_at = time.monotonic()
        self._until = self._beat_at + settings.SHOAL_INGEST_TASK_LIMIT_S

    def save(self, cause: UploadCause | None = None, **fields: Any) -> None:
        """``cause`` changes the state, too. Raises Superseded."""
        mine = Upload.objects.filter(pk=self.upload.pk, claim=self.claim, state__in=ACTIVE)
        now = timezone.now()
        fields |= {"heartbeat_at": now, "updated_at": now}
        if cause is not None:
            UPLOADS.check(UploadState(self.upload.state), cause)
            if not UPLOADS.move(self.upload, cause, rows=mine, **fields):
                raise Superseded
            return
        if not mine.update(**fields):
            raise Superseded
        for name, value in fields.items():
            setattr(self.upload, name, value)

    def beat(self, _: int = 0, **fields: Any) -> None:
        """Show signs of life, at most every two seconds however often it is called.

        ``fields`` are written with them.

        Raises SoftTimeLimitExceeded where it took too long: Celery does not end threads.
        """
        if time.monotonic() > self._until:
            raise SoftTimeLimitExceeded
        if time.monotonic() - self._beat_at >= BEAT_S:
            self._beat_at = time.monotonic()
            self.save(**fields)

    @contextmanager
    def step(self, name: str, cause: UploadCause | None = None) -> Iterator[list[str]]:
        """Times and outcome of one step on the row; the caller appends sentences of detail.

        The upload's state changes by ``cause`` as the step begins.
        """
        said: list[str] = []
        started = timezone.now().isoformat()
        self.save(cause, steps=self._marked(name, StepCause.BEGIN, started_at=started))
        try:
            yield said
        except Superseded:
            raise
        except BaseException as error:
            self._end(name, StepCause.FAIL, str(error))
            raise
        self._end(name, StepCause.SUCCEED, " ".join(said))

    def _end(self, name: str, cause: StepCause, detail: str) -> None:
        ended = timezone.now().isoformat()
        self.save(steps=self._marked(name, cause, detail=detail, ended_at=ended))

    def _marked(self, name: str, cause: StepCause, **change: Any) -> list[Step]:
        return [
            step_after(step, cause, **change) if step["name"] == name else step
            for step in self.upload.steps
        ]

    def run(self) -> None:
        if self.upload.state == UploadState.FETCHING:
            from controlplane.registry.services.fetching import fetch  # noqa: PLC0415 # for imports

            with self.step(FETCH) as said:
                said.append(fetch(self))
            imports.next_begin()
        with self.step("verify") as said:
            said.append(self._verify())
        with self.step("unpack") as said:
            done = self._unpack()
            said += done or ["A repository as it should be."]
        with self.step("inspect", UploadCause.INSPECT) as said:
            inspection = inspector.inspect(self.folder, tick=self.beat)
            inspection["problems"] += [_arranged(sentence) for sentence in done]
            self.save(inspection=inspection)
            refuse_bad(inspection)
            manifest = self._store()
            said.append(", ".join(model["name"] for model in inspection["models"]))
        self.finish(UploadCause.ACCEPT, manifest, digest=manifest_digest(manifest))

    def finish(self, cause: UploadCause, unpacked: Sequence[FileEntry] = (), **fields: Any) -> None:
        """Write the outcome, and remove the bytes as they arrived. Raises Superseded."""
        upload = self.upload
        with transaction.atomic():
            self.save(cause, sealed_source="", **fields)
            UnpackedFile.objects.bulk_create(
                UnpackedFile(upload=upload, **entry) for entry in unpacked
            )
            ready = upload.state == UploadState.READY
            error = fields.get("error") or {}
            events.record(
                actor="system",
                verb="upload.ready" if ready else "upload.failed",
                subject=f"upload/{upload.pk}",
                severity=Event.Severity.INFO if ready else Event.Severity.ERROR,
                message=f"{upload.filename} is ready to be registered"
                if ready
                else f"{upload.filename}: {error.get('message')}",
                data={"code": error.get("code")} if error else {},
            )
        storage.parts_remove(upload.pk)

    def _verify(self) -> str:
        upload = self.upload
        if upload.announced.exists():
            return files_verify(upload, tick=self.beat)
        part = storage.part_path(upload.pk)
        if storage.part_size(upload.pk) < upload.size:
            raise IngestFailed(
                "Bytes of the upload are missing on the server's disk.",
                code="UploadIncomplete",
                hints=("Upload the file again.",),
            )
        os.truncate(part, upload.size)
        sha256 = storage.sha256_of(part, tick=self.beat)
        if upload.sha256_expected and sha256 != upload.sha256_expected:
            raise ChecksumMismatch(
                f"The bytes have SHA-256 {sha256}, announced was {upload.sha256_expected}.",
                hints=("The file changed or was damaged on its way. Upload it again.",),
            )
        self.save(sha256=sha256)
        return f"SHA-256 {sha256}"

    def _unpack(self) -> list[str]:
        """Fill the work folder; returns what was done to make it a repository."""
        upload = self.upload
        part = storage.part_path(upload.pk)
        with full_disk_said(self.folder.parent):
            self.folder.mkdir(parents=True)
            if upload.announced.exists():
                files_lay_out(upload, self.folder)
                return layout.arrange(self.folder, upload.filename)
            if detect(part, upload.filename) is Format.SINGLE:
                link_or_copy(part, self.folder / single_name(part, upload.filename))
                return layout.arrange(self.folder, upload.filename)
            said = unpacker.unpack(part, self.folder, tick=self.beat)
            return said + layout.arrange(self.folder, upload.filename)

    def _store(self) -> list[FileEntry]:
        """Move every file into the blob store; returns the manifest, sorted by path."""
        manifest: list[FileEntry] = []
        for path in sorted(self.folder.rglob("*")):
            if not path.is_file():
                continue
            sha256 = storage.sha256_of(path, tick=self.beat)
            size = path.stat().st_size
            entry = FileEntry(
                path=path.relative_to(self.folder).as_posix(), size=size, sha256=sha256
            )
            with storage.blob_lock(exclusive=False):
                Blob.objects.update_or_create(
                    sha256=sha256, defaults={"size": size, "seen_at": timezone.now()}
                )
                blob_store().put(path, sha256)
            manifest.append(entry)
            self.beat()
        return manifest


def _arranged(sentence: str) -> InspectionProblem:
    return InspectionProblem(
        severity="info", model=None, code="Arranged", message=sentence, detail="", hints=[]
    )


def refuse_bad(inspection: Inspection) -> None:
    # why only these: what another configuration can mend is for who registers the upload
    errors = [
        problem
        for problem in inspection["problems"]
        if problem["severity"] == "error" and problem.get("scope") != "config"
    ]
    if errors:
        first = errors[0]
        plain = first.get("plain")
        said = [first["message"]] if plain else []
        raise IngestFailed(
            plain or first["message"],
            code=first["code"],
            detail="\n".join([*said, first.get("detail") or ""]).strip(),
            hints=tuple(first.get("hints") or ()),
        )
    if not inspection["models"]:
        raise IngestFailed(
            "No model was found in this upload.",
            code="NoModelFound",
            hints=("Expected <model>/1/<file>, such as digits/1/model.onnx, or a single file.",),
        )


def ingest_run(*, upload_id: str) -> None:
    """Ingest one upload, unless somebody else is at it or it is done."""
    claim = uuid4().hex
    if not _claimed(upload_id, claim):
        return
    storage.work_folders_remove(upload_id)  # of a worker that died before us
    attempt = Ingest(Upload.objects.get(pk=upload_id), claim)
    fetches = attempt.upload.state == UploadState.FETCHING
    try:
        _run_to_an_end(attempt)
    except Superseded:
        logger.info("Ingest of %s was taken over or its upload deleted", upload_id)
        if not Upload.objects.filter(pk=upload_id).exists():
            storage.upload_files_remove(upload_id)
    finally:
        layout.discard(attempt.folder)
        if fetches:  # also where it failed, or was deleted
            imports.next_begin()


@transaction.atomic
def _claimed(upload_id: str, claim: str) -> bool:
    now = timezone.now()
    upload = Upload.objects.filter(pk=upload_id).first()
    if upload is None:
        return False
    cause, steps = UploadCause.CLAIM, steps_new()
    if upload.state == UploadState.FETCHING:
        room.alone()  # why: two workers must not both find that no import runs
        if not imports.may_begin(upload_id, stale_before=now - STALE):
            return False
        cause, steps = UploadCause.FETCH, steps_new(fetch=True)
    elif upload.lineage:
        steps = [_fetched(upload.steps[0]), *steps]
    free = Q(claim="") | Q(heartbeat_at__lt=now - STALE)
    won = UPLOADS.write(
        Upload.objects.filter(free, pk=upload_id),
        cause,
        claim=claim,
        heartbeat_at=now,
        attempts=F("attempts") + 1,
        steps=steps,
    )
    return bool(won)


def _fetched(step: Step) -> Step:
    """Its bytes are here, whether or not the worker that died came to say so."""
    running = step["status"] == StepStatus.RUNNING
    return step_after(step, StepCause.SUCCEED) if running else step


def _run_to_an_end(attempt: Ingest) -> None:
    try:
        attempt.run()
    except DomainError as error:
        detail = getattr(error, "detail", "")
        ingest_fail(attempt, error.code, error.message, detail, error.hints)
    except SoftTimeLimitExceeded:
        ingest_fail(attempt, "IngestTimeout", "Ingest took too long and was stopped.")
    except Superseded:
        raise
    except Exception as error:
        logger.exception("Ingest of %s failed unforeseen", attempt.upload.pk)
        ingest_fail(
            attempt,
            "InternalError",
            "Something unforeseen went wrong. The log of the worker has the cause.",
            repr(error),
        )


def ingest_fail(
    attempt: Ingest, code: str, message: str, detail: str = "", hints: tuple[str, ...] = ()
) -> None:
    error = {"code": code, "message": message, "detail": detail, "hints": list(hints)}
    attempt.finish(UploadCause.REFUSE, error=error)
