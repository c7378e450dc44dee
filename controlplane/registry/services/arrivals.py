"""What of a list of files has arrived: blobs that are stored, and parts that still grow."""

from controlplane.registry import selectors, storage
from controlplane.registry.errors import FileNotAnnounced, UploadIncomplete
from controlplane.registry.models import Blob, Upload
from controlplane.registry.stores import blob_store
from controlplane.registry.types import FileEntry, FileProgress


def is_folder(entry: FileEntry) -> bool:
    return entry["path"].endswith("/")


def progress_of(entry: FileEntry, offset: int) -> FileProgress:
    return FileProgress(
        path=entry["path"], size=entry["size"], sha256=entry["sha256"], offset=offset
    )


def part_name(upload_id: str, sha256: str) -> str:
    return f"{upload_id}.{sha256}"


def announced(upload: Upload, sha256: str) -> FileEntry:
    entries: list[FileEntry] = upload.files
    for entry in entries:
        if entry["sha256"] == sha256 and not is_folder(entry):
            return entry
    raise FileNotAnnounced(
        "This upload has no file with that SHA-256.", hints=("`files` of the upload lists them.",)
    )


def files_missing(upload: Upload) -> list[FileProgress]:
    """What is still to be sent, each content once, and how much of it has arrived."""
    wanted = {entry["sha256"]: entry for entry in upload.files if not is_folder(entry)}
    stored = set(Blob.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    found = []
    for sha256, entry in wanted.items():
        arrived = _arrived(upload, entry, stored=sha256 in stored)
        if arrived < entry["size"]:
            found.append(progress_of(entry, arrived))
    return found


def _arrived(upload: Upload, entry: FileEntry, *, stored: bool) -> int:
    if stored and blob_store().size(entry["sha256"]) is not None:
        return entry["size"]
    return min(storage.part_size(part_name(upload.pk, entry["sha256"])), entry["size"])


def file_progress(*, upload_id: str, sha256: str) -> FileProgress:
    """Raises UploadNotFound, FileNotAnnounced."""
    upload = selectors.upload_get(upload_id)
    entry = announced(upload, sha256)
    stored = Blob.objects.filter(pk=sha256).exists()
    return progress_of(entry, _arrived(upload, entry, stored=stored))


def check_all_here(upload: Upload) -> None:
    """Raises UploadIncomplete."""
    if missing := files_missing(upload):
        raise UploadIncomplete(
            f"{len(missing)} of {len(upload.files)} files have not arrived whole.",
            hints=("`files` of the upload lists them; send the rest, then complete again.",),
            extra={"missing": [entry["sha256"] for entry in missing[:100]]},
        )
