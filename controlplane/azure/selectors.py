"""Reads of what was sent: folders by their place, blobs by their path, code by its name."""

from typing import Final

from django.db.models import QuerySet

from controlplane.accounts.models import User
from controlplane.azure.errors import BlobNotFound
from controlplane.azure.models import SentFolder
from controlplane.registry.models import AnnouncedFile, Upload
from controlplane.registry.services.upload_progress import files_of

CODE: Final = "code-"  # how places of code assets begin


def folder_of(user: User, place: str) -> SentFolder | None:
    """The caller's own, unless what was sent there could not be used."""
    row = SentFolder.objects.select_related("upload").filter(owner=user, place=place).first()
    return None if row is None or row.upload.state == Upload.State.FAILED else row


def folder_get(user: User, place: str) -> SentFolder:
    """Raises BlobNotFound."""
    row = folder_of(user, place)
    if row is None:
        raise BlobNotFound(f"Nothing was sent to {place[:120]}.")
    return row


def blob_get(user: User, place: str, path: str) -> AnnouncedFile:
    """Raises BlobNotFound."""
    folder = folder_get(user, place)
    row = files_of(folder.upload_id).filter(path=path).first()
    if row is None:
        raise BlobNotFound(f"There is no blob {place[:120]}/{path[:200]}.")
    return row


def code_of(user: User) -> QuerySet[SentFolder]:
    """Code assets of the caller alone.

    why: their names and the digests that are said of them prove nothing, and what an administrator
    deploys is approved by that. Somebody else's code under a known name would run unseen.
    """
    rows = SentFolder.objects.filter(owner=user, place__startswith=CODE, properties__isnull=False)
    return rows.select_related("upload", "owner").order_by("-created_at")


def code_folder(user: User, name: str, version: str) -> SentFolder | None:
    return code_of(user).filter(place=code_place(name, version)).first()


def code_place(name: str, version: str) -> str:
    return f"{CODE}{name}-{version}"
