"""Uploads of files that nobody announced: each is kept as it comes, by its path.

They are lists of files (``file_lists``) that grow until they are completed; from then on nothing
tells them apart. A file may come in blocks, in any order, that are joined in the end.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.core.errors import Invalid
from controlplane.registry import selectors, storage
from controlplane.registry.archive import IGNORED, Names, Refused, safe_path
from controlplane.registry.errors import ChecksumMismatch, UploadTooLarge
from controlplane.registry.models import AnnouncedFile, Upload
from controlplane.registry.services import room
from controlplane.registry.services.upload_progress import files_of, part_name
from controlplane.registry.services.uploads import check_growing, upload_begin, upload_complete
from controlplane.registry.stores.disk import link_or_copy
from controlplane.registry.types import LIMIT_FILES

MOST_BLOCKS = 50_000


@transaction.atomic
def growing_list_create(*, filename: str, user: User, project: str = "") -> Upload:
    """An empty one. Raises Invalid, TooManyUploads, UploadQuotaExceeded, DiskFull, ProjectNotFound,
    ProjectArchived, ProjectQuotaExceeded."""
    room.alone()
    return upload_begin(filename=filename, size=0, to_come=0, user=user, project=project)


def path_checked(path: str) -> str:
    """A plain relative path of a file. Raises Invalid."""
    try:
        found = safe_path(path)
    except Refused as refused:
        raise _refused(refused) from refused
    if not found.parts or path.endswith("/"):
        raise Invalid(f"{path[:80]!r} is no file's path.", field="path")
    return str(found)


def file_keep(
    *, upload_id: str, path: str, source: storage.Readable, md5: bytes | None = None
) -> AnnouncedFile:
    """Keep all of ``source`` as ``path``, in place of what was there.

    Raises Invalid, UploadTooLarge, ChecksumMismatch, DiskFull, UploadStateConflict,
    UploadQuotaExceeded, ProjectQuotaExceeded; nothing is kept then.
    """
    path = path_checked(path)
    check_growing(selectors.upload_get(upload_id))
    room.chunk_check()
    with _fresh_part(upload_id) as (part, file):
        heard = _Heard(source)
        size, sha256 = _written(file, heard)
        if md5 is not None and heard.md5.digest() != md5:
            raise ChecksumMismatch(f"{path} arrived damaged and was thrown away.")
        return _listed(upload_id, path, part, size, sha256)


def block_keep(
    *, upload_id: str, path: str, block: str, source: storage.Readable, md5: bytes | None = None
) -> None:
    """Keep a piece of ``path`` until ``blocks_join`` names it. Raises what ``file_keep`` raises."""
    path = path_checked(path)
    check_growing(selectors.upload_get(upload_id))
    room.chunk_check()
    place = _block_part(upload_id, path, block)
    with _fresh_part(upload_id) as (part, file):
        heard = _Heard(source)
        size, _ = _written(file, heard)
        if md5 is not None and heard.md5.digest() != md5:
            raise ChecksumMismatch(f"A block of {path} arrived damaged and was thrown away.")
        with _held(upload_id) as upload:
            _grow(upload, size - _size(place))
            part.replace(place)


def blocks_join(*, upload_id: str, path: str, blocks: Sequence[str]) -> AnnouncedFile:
    """``path`` becomes these blocks in this order. Raises Invalid for one that did not come, and
    what ``file_keep`` raises."""
    path = path_checked(path)
    check_growing(selectors.upload_get(upload_id))
    if len(blocks) > MOST_BLOCKS:
        raise Invalid(f"{len(blocks)} blocks, expected at most {MOST_BLOCKS}.", field="blocks")
    room.chunk_check()
    places = [_block_part(upload_id, path, block) for block in blocks]
    with _fresh_part(upload_id) as (part, file):
        try:
            size, sha256 = _written(file, _Joined(places))
        except FileNotFoundError as error:
            raise Invalid(
                f"A block of {path} has not arrived.",
                code="InvalidBlockList",
                field="blocks",
                hints=("Send its blocks again, then the list of them.",),
            ) from error
        kept = _listed(upload_id, path, part, size, sha256)
    with _held(upload_id) as upload:
        for place in set(places):
            _grow(upload, -_size(place))
            place.unlink(missing_ok=True)
    return kept


def file_link(*, upload_id: str, path: str, of: AnnouncedFile) -> None:
    """Keep a file of another upload, whose bytes still wait to be ingested, as ``path``."""
    source = storage.part_path(part_name(of.upload_id, of.sha256))
    with _fresh_part(upload_id) as (part, _):
        part.unlink()
        link_or_copy(source, part)
        _listed(upload_id, path_checked(path), part, of.size, of.sha256)


@transaction.atomic
def files_refer(*, upload_id: str, files: Sequence[tuple[str, str, int]]) -> None:
    """Files that versions have which the caller may see, as (path, SHA-256, size): nothing is
    sent, and nothing kept twice."""
    with _held(upload_id) as upload:
        _grow(upload, sum(size for _, _, size in files))
        AnnouncedFile.objects.bulk_create(
            AnnouncedFile(
                upload=upload, path=path_checked(path), size=size, sha256=sha256, arrived=size
            )
            for path, sha256, size in files
        )


def growing_list_complete(*, upload_id: str, actor: str) -> Upload:
    """Hand it to ingest; a second call changes nothing. Raises Invalid for paths that no folder
    can hold together, and for none."""
    names, upload = Names(), selectors.upload_get(upload_id)
    if upload.state == Upload.State.UPLOADING:
        paths = list(files_of(upload_id).values_list("path", flat=True))
        if not paths:
            raise Invalid("No file was sent.", hints=("Send the files first, then complete it.",))
        try:
            for path in paths:
                names.claim(safe_path(path), is_folder=False)
        except Refused as refused:
            raise _refused(refused) from refused
    return upload_complete(upload_id=upload_id, sha256="", actor=actor)


def _refused(refused: Refused) -> Invalid:
    answer = refused.answer
    return Invalid(
        str(refused),
        code=str(answer["code"]),
        field="path",
        hints=tuple(answer["hints"]),
        extra={"path": answer["detail"]},
    )


class _Heard:
    """A source whose bytes are counted into an MD5 as they pass."""

    def __init__(self, source: storage.Readable) -> None:
        self._source = source
        self.md5 = hashlib.md5(usedforsecurity=False)

    def read(self, size: int, /) -> bytes:
        piece = self._source.read(size)
        self.md5.update(piece)
        return piece


class _Joined:
    """Files one after another."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._left = list(places)
        self._open: BinaryIO | None = None

    def read(self, size: int, /) -> bytes:
        while True:
            if self._open is None:
                if not self._left:
                    return b""
                self._open = self._left.pop(0).open("rb")
            if piece := self._open.read(size):
                return piece
            self._open.close()
            self._open = None


@contextmanager
def _fresh_part(upload_id: str) -> Iterator[tuple[Path, BinaryIO]]:
    """A part that nobody else knows; what is still called so in the end is removed."""
    name = f"{upload_id}.{uuid4().hex}"
    try:
        with storage.locked_part(name) as file:
            yield storage.part_path(name), file
    finally:
        storage.part_path(name).unlink(missing_ok=True)


def _written(file: BinaryIO, source: storage.Readable) -> tuple[int, str]:
    limit = settings.SHOAL_MAX_UPLOAD_BYTES
    size, digest = storage.write_at(file, 0, source, limit=limit)
    if size > limit:
        raise UploadTooLarge(
            f"The file has more than {limit} bytes.",
            hints=("An administrator may raise SHOAL_MAX_UPLOAD_BYTES.",),
        )
    return size, digest.hex()


def _block_part(upload_id: str, path: str, block: str) -> Path:
    digest = hashlib.sha256(f"{path}\0{block}".encode()).hexdigest()
    return storage.part_path(f"{upload_id}.block-{digest}")


def _size(place: Path) -> int:
    return place.stat().st_size if place.exists() else 0


@contextmanager
def _held(upload_id: str) -> Iterator[Upload]:
    """The upload, for one writer at a time. Raises UploadStateConflict."""
    with transaction.atomic():
        yield check_growing(Upload.objects.select_for_update().get(pk=upload_id))


def _grow(upload: Upload, by: int) -> None:
    most = settings.SHOAL_MAX_UNPACKED_BYTES
    if upload.size + by > most:
        raise UploadTooLarge(f"The files have {upload.size + by} bytes; {most} are allowed.")
    if by > 0:
        room.growth_check(user=upload.created_by, project=upload.project_name, by=by)
    Upload.objects.filter(pk=upload.pk).update(
        size=F("size") + by, offset=F("offset") + by, updated_at=timezone.now()
    )
    upload.size += by


def _listed(upload_id: str, path: str, part: Path, size: int, sha256: str) -> AnnouncedFile:
    with _held(upload_id) as upload:
        rows = files_of(upload_id)
        before = rows.filter(path=path).first()
        if before is None and rows.count() >= LIMIT_FILES:
            raise UploadTooLarge(f"There are {LIMIT_FILES} files already; no more are taken.")
        if IGNORED.intersection(Path(path).parts):
            raise Invalid(f"{path} is none of a model's files.", field="path")
        _grow(upload, size - (before.size if before else 0))
        row, _ = AnnouncedFile.objects.update_or_create(
            upload=upload, path=path, defaults={"size": size, "sha256": sha256, "arrived": size}
        )
        part.replace(storage.part_path(part_name(upload_id, sha256)))
        if before and not rows.filter(sha256=before.sha256).exists():
            storage.part_path(part_name(upload_id, before.sha256)).unlink(missing_ok=True)
    return row
