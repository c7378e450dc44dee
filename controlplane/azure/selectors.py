"""Reads of what was sent: folders by their place, blobs by their path, code by its name."""

from controlplane.accounts.models import User
from controlplane.azure.errors import BlobNotFound
from controlplane.azure.models import SentFolder
from controlplane.registry.models import AnnouncedFile, Upload
from controlplane.registry.services.upload_progress import files_of


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


def code_folder(name: str, version: str) -> SentFolder | None:
    """The newest of whomever's that the caller may see: who deploys need not have sent it."""
    rows = SentFolder.objects.filter(place=code_place(name, version), properties__isnull=False)
    return rows.select_related("upload").order_by("-created_at").first()


def code_place(name: str, version: str) -> str:
    return f"code-{name}-{version}"
