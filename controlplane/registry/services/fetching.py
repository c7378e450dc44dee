"""The first step of an import's ingest: its bytes come from elsewhere, to where uploads lie.

They are written as those of an upload are, with the same limits, and ingest looks at them as at
anybody's. Nothing of an earlier attempt is used.
"""

import logging
import time
from collections.abc import Iterator
from typing import Any, Final, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from django.conf import settings
from django.db import transaction

from controlplane.core import vault
from controlplane.core.addresses import Allowed
from controlplane.registry import storage
from controlplane.registry.archive import Names, Refused, safe_path
from controlplane.registry.errors import ChecksumMismatch, ImportFailed, UploadTooLarge
from controlplane.registry.models import AnnouncedFile, Upload
from controlplane.registry.services import room
from controlplane.registry.services.upload_progress import part_name
from controlplane.registry.services.uploads import plain_name
from controlplane.registry.sources.addresses import Kind, Source, source_read
from controlplane.registry.sources.bucket import Buckets
from controlplane.registry.sources.found import Found, Remote
from controlplane.registry.sources.hub import Hub
from controlplane.registry.sources.link import Link
from controlplane.registry.sources.mlflow import Tracking
from controlplane.registry.sources.web import Answer, Bounds, Web, origin_of
from controlplane.registry.states import UploadCause
from controlplane.registry.types import SOURCE_PURPOSE

logger = logging.getLogger(__name__)

GROWN_BYTES: Final = 16 * 2**20  # that a body whose size nobody says may grow before it is asked
LONGEST_TOLD: Final = 500  # characters of what a source says of itself


class Attempt(Protocol):
    upload: Upload

    def save(self, cause: UploadCause | None = None, **fields: Any) -> None: ...

    def beat(self, _: int = 0, **fields: Any) -> None: ...


def fetch(attempt: Attempt) -> str:
    """Leave the upload as a completed one; returns what was done. Raises ImportFailed,
    UploadTooLarge, UploadQuotaExceeded, ProjectQuotaExceeded, DiskFull, ChecksumMismatch."""
    upload = attempt.upload
    again = _forget(attempt)
    try:
        source = source_read(vault.unseal(SOURCE_PURPOSE, upload.sealed_source))
    except vault.InvalidToken as error:
        raise ImportFailed(
            "The address was sealed with another SHOAL_SECRET_KEY: import it again.",
            code="ImportFailed",
        ) from error
    arrivals = _Arrivals(attempt)
    web = Web(_bounds(source), lambda: attempt.beat(offset=arrivals.here))
    try:
        found = _found(source, web)
        if len(found.files) > 1 or not found.archive:
            _fetch_all(attempt, found, web, arrivals)
            fields: dict[str, Any] = {"filename": plain_name(found.filename)}
        else:
            fields = _fetch_one(attempt, found.files[0], web, arrivals)
    finally:
        web.close()
    told = {key: value[:LONGEST_TOLD] for key, value in found.lineage.items() if value}
    lineage = {**upload.lineage, **told, **fields.pop("lineage", {})}
    attempt.save(
        UploadCause.FETCHED,
        size=arrivals.here,
        offset=arrivals.here,
        lineage=lineage,
        sealed_source="",  # it is done with, and may hold a secret
        **fields,
    )
    files = f"{len(found.files)} file(s), " if len(found.files) > 1 else ""
    return f"{files}{arrivals.here} bytes from {source.shown}{again}"


def _found(source: Source, web: Web) -> Found:
    try:
        found: Found = finder(source.kind).find(source, web)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        logger.exception("What answers for %s is not understood", source.shown)
        raise ImportFailed(
            f"What answers for {source.shown} does not speak the interface that was expected.",
            code="ImportFailed",
        ) from error
    return found


def finder(kind: Kind) -> Any:
    """Who finds what a source of this kind names, with what an administrator has set for it."""
    if kind is Kind.HUB:
        return Hub(settings.SHOAL_HUB_URL, settings.SHOAL_HUB_TOKEN)
    if kind is Kind.MLFLOW:
        return Tracking(settings.SHOAL_MLFLOW_URL, settings.SHOAL_MLFLOW_TOKEN)
    if kind is Kind.S3:
        return Buckets(
            settings.SHOAL_IMPORT_S3_ENDPOINT,
            settings.SHOAL_IMPORT_S3_REGION,
            settings.SHOAL_IMPORT_S3_ACCESS_KEY,
            settings.SHOAL_IMPORT_S3_SECRET_KEY,
        )
    return Link()


def _bounds(source: Source) -> Bounds:
    own = {
        Kind.HUB: settings.SHOAL_HUB_URL,
        Kind.MLFLOW: settings.SHOAL_MLFLOW_URL,
        Kind.S3: settings.SHOAL_IMPORT_S3_ENDPOINT,
    }.get(source.kind, "")
    return Bounds(
        allowed=Allowed("SHOAL_IMPORT_NETWORKS", settings.SHOAL_IMPORT_NETWORKS),
        deadline=time.monotonic() + settings.SHOAL_IMPORT_TIMEOUT_S,
        own=origin_of(own) if own else "",
        proxy=settings.SHOAL_IMPORT_PROXY,
    )


def _forget(attempt: Attempt) -> str:
    """What a worker that died has fetched; a sentence if there was one."""
    upload = attempt.upload
    storage.parts_remove(upload.pk)
    upload.announced.all().delete()
    attempt.save(size=0, offset=0)
    return ", begun again as a worker had died" if upload.attempts > 1 else ""


class _Arrivals:
    """Bytes that have come, and those that limits and quotas have agreed to."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self.here = 0

    def expect(self, more: int, most: int) -> None:
        """``more`` bytes will come. Raises UploadTooLarge, and what quotas raise."""
        upload = self._attempt.upload
        wanted = self.here + more
        if wanted > most:
            raise UploadTooLarge(
                f"{wanted} bytes are to come; {most} are allowed.",
                hints=("An administrator may raise SHOAL_MAX_UPLOAD_BYTES.",),
            )
        if (by := wanted - upload.size) > 0:
            with transaction.atomic():
                room.growth_check(user=upload.created_by, project=upload.project_name, by=by)
                self._attempt.save(size=wanted)

    def pieces(self, answer: Answer, most: int) -> Iterator[bytes]:
        """The body, while there is room for it: what is announced is asked for at once."""
        self.expect(answer.size if answer.size is not None else GROWN_BYTES, most)
        for piece in answer.pieces():
            if self.here + len(piece) > self._attempt.upload.size:
                self.expect(min(GROWN_BYTES, max(len(piece), most - self.here)), most)
            self.here += len(piece)
            yield piece


class _Body:
    """Pieces as something that is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def read(self, size: int, /) -> bytes:
        if not self._left:
            self._left = next(self._pieces, b"")
        piece, self._left = self._left[:size], self._left[size:]
        return piece


def _fetch_one(attempt: Attempt, remote: Remote, web: Web, arrivals: _Arrivals) -> dict[str, Any]:
    """A file that may be an archive: the part of the upload, whose first bytes say what it is."""
    most = settings.SHOAL_MAX_UPLOAD_BYTES
    with (
        storage.locked_part(attempt.upload.pk) as file,
        web.get(remote.url, remote.headers) as answer,
    ):
        body = _Body(arrivals.pieces(answer, most))
        written, digest = storage.write_at(file, 0, body, limit=most)
        storage.cut(file, written)
    if not written:
        raise ImportFailed(f"{answer.shown} is empty.", code="ImportNothingFound")
    _compare(remote, remote.path, digest.hex())
    etag = answer.headers.get("etag", "").removeprefix("W/").strip('"')
    name = _named(remote.path, answer)
    return {"filename": name, "lineage": {"etag": etag[:LONGEST_TOLD]} if etag else {}}


def _named(path: str, answer: Answer) -> str:
    """By its address; where that says no kind of file, by where it led."""
    last = urlsplit(answer.url).path.rpartition("/")[2]
    return plain_name(path if "." in path or "." not in last else last)


def _fetch_all(attempt: Attempt, found: Found, web: Web, arrivals: _Arrivals) -> None:
    """Files of a tree: rows and parts as those of a list of files that was sent."""
    upload, names = attempt.upload, Names()
    try:
        paths = [(remote, safe_path(remote.path)) for remote in found.files]
        for _, path in paths:
            names.claim(path, is_folder=False)
    except Refused as refused:
        answer = refused.answer
        raise ImportFailed(
            str(refused), code=str(answer["code"]), detail=str(answer["detail"])
        ) from refused
    known = [remote.size for remote in found.files]
    if None not in known:
        arrivals.expect(sum(size or 0 for size in known), settings.SHOAL_MAX_UNPACKED_BYTES)
    for remote, path in paths:
        size, sha256 = _fetch_part(upload.pk, remote, web, arrivals)
        _compare(remote, str(path), sha256)
        AnnouncedFile.objects.create(
            upload=upload, path=str(path), size=size, sha256=sha256, arrived=size
        )
        attempt.beat(offset=arrivals.here)


def _fetch_part(upload_id: str, remote: Remote, web: Web, arrivals: _Arrivals) -> tuple[int, str]:
    name = f"{upload_id}.{uuid4().hex}"
    most = settings.SHOAL_MAX_UNPACKED_BYTES
    with storage.locked_part(name) as file, web.get(remote.url, remote.headers) as answer:
        body = _Body(arrivals.pieces(answer, most))
        size, digest = storage.write_at(file, 0, body, limit=most)
        sha256 = digest.hex()
        storage.part_path(name).replace(storage.part_path(part_name(upload_id, sha256)))
    return size, sha256


def _compare(remote: Remote, path: str, sha256: str) -> None:
    if remote.sha256 and remote.sha256 != sha256:
        raise ChecksumMismatch(
            f"{path} has SHA-256 {sha256}, its source says {remote.sha256}.",
            hints=("It was damaged on its way, or changed meanwhile: import it again.",),
        )
