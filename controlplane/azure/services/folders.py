"""Folders of blobs: found by their place, begun, and grown file by file."""

import base64
import binascii
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.models import SentFolder
from controlplane.azure.selectors import blob_get, folder_get
from controlplane.registry.errors import UploadNotFound, UploadStateConflict
from controlplane.registry.models import AnnouncedFile, Upload
from controlplane.registry.services import growing_lists
from controlplane.registry.services.upload_progress import files_of
from controlplane.registry.services.uploads import upload_delete
from controlplane.registry.storage import Readable

MOST_METADATA = 8192  # characters of one blob, as in Azure
MOST_DESCRIBED = 100  # blobs of one folder; the package describes one
LONGEST_PLACE = 400
MOST_CODE = 50
SOON = timedelta(hours=1)


def folder_begin(user: User, place: str, path: str, project: str) -> SentFolder:
    """One that grows: the one that is there, or a new one where that has been handed to ingest. A
    client that sends to it again sends all of it."""
    if len(place) > LONGEST_PLACE:
        raise AzureInvalid(f"{place[:60]}: too long, expected {LONGEST_PLACE} characters.")
    found = SentFolder.objects.select_related("upload").filter(owner=user, place=place).first()
    if found is not None and found.upload.state == Upload.State.UPLOADING:
        return found
    try:
        with transaction.atomic():
            if found is not None and found.upload.state == Upload.State.FAILED:
                upload_delete(upload_id=found.upload_id, actor=user.username)
            elif found is not None:
                found.delete()  # the upload stays: it is a model, or about to become one
            upload = growing_lists.growing_list_create(
                filename=path.partition("/")[0], user=user, project=project
            )
            return SentFolder.objects.create(owner=user, place=place, upload=upload)
    except (IntegrityError, UploadNotFound):  # another of the client's threads was quicker
        return folder_get(user, place)


def blob_put(
    *, user: User, place: str, path: str, project: str, source: Readable, md5: str, fresh: bool
) -> AnnouncedFile:
    """``fresh``: refused where there is one already. Raises Conflict, and what keeping raises."""
    path = growing_lists.path_checked(path)
    folder = folder_begin(user, place, path, project)
    if fresh and files_of(folder.upload_id).filter(path=path).exists():
        raise UploadStateConflict(
            f"There is a blob {place}/{path} already.",
            code="BlobAlreadyExists",
            hints=("Leave If-None-Match out to take its place.",),
        )
    return growing_lists.file_keep(
        upload_id=folder.upload_id, path=path, source=source, md5=_digest(md5)
    )


def block_put(
    *, user: User, place: str, path: str, project: str, block: str, source: Readable, md5: str
) -> None:
    path = growing_lists.path_checked(path)
    folder = folder_begin(user, place, path, project)
    growing_lists.block_keep(
        upload_id=folder.upload_id, path=path, block=block, source=source, md5=_digest(md5)
    )


def blocks_put(*, user: User, place: str, path: str, blocks: Sequence[str]) -> AnnouncedFile:
    folder = folder_get(user, place)
    return growing_lists.blocks_join(upload_id=folder.upload_id, path=path, blocks=blocks)


@transaction.atomic
def metadata_set(*, user: User, place: str, path: str, metadata: dict[str, str]) -> None:
    """In place of what it had. Raises BlobNotFound, AzureInvalid."""
    if sum(len(name) + len(value) for name, value in metadata.items()) > MOST_METADATA:
        raise AzureInvalid(f"metadata: expected at most {MOST_METADATA} characters.")
    blob_get(user, place, path)
    row = SentFolder.objects.select_for_update().get(owner=user, place=place)
    row.metadata = {**row.metadata, path: metadata}
    if len(row.metadata) > MOST_DESCRIBED:
        raise AzureInvalid(f"metadata: expected of at most {MOST_DESCRIBED} blobs of one folder.")
    row.save(update_fields=["metadata", "updated_at"])


@transaction.atomic
def code_keep(folder: SentFolder, properties: dict[str, Any]) -> None:
    """The folder is code from now on. Of one person the last ``MOST_CODE`` are kept, so that they
    do not stand in the way of what else is sent; deployments hold copies."""
    folder.properties = properties
    folder.save(update_fields=["properties", "updated_at"])
    mine = SentFolder.objects.filter(owner=folder.owner, properties__isnull=False)
    for old in mine.order_by("-updated_at", "-pk")[MOST_CODE:]:
        upload_delete(upload_id=old.upload_id, actor=folder.owner.get_username())


def folder_leave(folder: SentFolder) -> None:
    """Its files are in a model that was put together of them: they go soon, and not at once, as the
    package still has a word to say about them."""
    Upload.objects.filter(pk=folder.upload_id, state=Upload.State.UPLOADING).update(
        expires_at=timezone.now() + SOON
    )


def _digest(text: str) -> bytes | None:
    if not text:
        return None
    try:
        found = base64.b64decode(text, validate=True)
    except binascii.Error:
        found = b""
    if len(found) != 16:
        raise AzureInvalid(
            f"Content-MD5: {text[:40]!r}, expected 16 bytes as base64.", field="Content-MD5"
        )
    return found
