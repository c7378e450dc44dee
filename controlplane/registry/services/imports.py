"""Imports: uploads whose bytes the server fetches from an address. From then on they are one."""

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.core import vault
from controlplane.core.jobs import enqueue, enqueue_on_commit
from controlplane.registry.models import Upload
from controlplane.registry.services import room
from controlplane.registry.services.uploads import upload_begin
from controlplane.registry.sources.addresses import source_read
from controlplane.registry.states import UploadState
from controlplane.registry.types import SOURCE_PURPOSE, Lineage


@transaction.atomic
def import_create(*, address: str, user: User, project: str = "") -> Upload:
    """Have the model at ``address`` fetched and taken in.

    Raises Invalid, TooManyUploads, UploadQuotaExceeded, DiskFull, ProjectNotFound, ProjectArchived,
    ProjectQuotaExceeded.
    """
    read = source_read(address)
    room.alone()
    lineage = Lineage(
        kind=read.kind.value,
        address=read.shown,
        revision=read.revision,
        by=user.username,
        at=timezone.now().isoformat(),
    )
    upload = upload_begin(
        filename=read.filename,
        size=0,
        to_come=0,
        user=user,
        project=project,
        lineage=lineage,
        sealed_source=vault.seal(SOURCE_PURPOSE, read.text),
    )
    enqueue_on_commit("registry.ingest", queue="ingest", upload_id=upload.pk)
    return upload


def may_begin(upload_id: str, *, stale_before: object) -> bool:
    """Whether this import may be fetched now: slow ones must not keep uploads from ingest."""
    running = Upload.everything.filter(
        state=UploadState.FETCHING, heartbeat_at__gte=stale_before
    ).exclude(claim="")
    return running.exclude(pk=upload_id).count() < settings.SHOAL_IMPORTS_AT_ONCE


def next_begin() -> None:
    """One has been fetched: the oldest that waits is next."""
    waiting = Upload.everything.filter(state=UploadState.FETCHING, claim="")
    if (upload := waiting.order_by("created_at").first()) is not None:
        enqueue("registry.ingest", queue="ingest", upload_id=upload.pk)
