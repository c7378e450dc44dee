"""Room for uploads: what the disk has beyond its reserve, and what one person may hold of it."""

from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import F, Sum
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.accounts.services.projects import project_hold, quota_check
from controlplane.core.errors import DiskFull
from controlplane.registry import selectors
from controlplane.registry.errors import TooManyUploads, UploadQuotaExceeded
from controlplane.registry.models import Upload
from controlplane.registry.states import UploadState
from controlplane.registry.stores import disk
from controlplane.registry.types import MAX_CHUNK_BYTES

# An upload that nobody goes on with keeps no room from others; it gets some when it goes on.
RUNNING = timedelta(hours=1)
COMING = (UploadState.UPLOADING, UploadState.FETCHING)


def alone() -> None:
    """Until this transaction ends nobody else announces an upload. Call it first in one."""
    # why not on SQLite: its transactions, which begin IMMEDIATE, already wait for one another
    if connection.vendor == "postgresql":
        table = connection.ops.quote_name(Upload._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")


def upload_check(*, user: User, project: str, size: int, to_come: int) -> None:
    """Whether ``user`` may announce ``size`` bytes, of which ``to_come`` are not here yet.

    Call it ``alone``, in the transaction that then makes the row. Raises TooManyUploads,
    UploadQuotaExceeded, ProjectQuotaExceeded, DiskFull.
    """
    _open_check(user)
    _quota_check(user, size)
    held = project_hold(project)
    quota_check(held, "bytes", used=selectors.projects_bytes([project])[project], wanted=size)
    promised = Upload.everything.filter(
        state__in=COMING, updated_at__gt=timezone.now() - RUNNING
    ).aggregate(bytes=Sum(F("size") - F("offset")))["bytes"]
    _room_check(to_come, promised=promised or 0)


def growth_check(*, user: User, project: str, by: int) -> None:
    """Whether an upload whose files nobody announced may grow ``by`` bytes.

    Call it in the transaction that then says so in its row. Raises UploadQuotaExceeded,
    ProjectQuotaExceeded, DiskFull.
    """
    _quota_check(user, by)
    held = project_hold(project)
    quota_check(held, "bytes", used=selectors.projects_bytes([project])[project], wanted=by)
    _room_check(by, promised=0)


def chunk_check() -> None:
    """Raises DiskFull when one more chunk may not fit."""
    _room_check(MAX_CHUNK_BYTES, promised=0)


def _open_check(user: User) -> None:
    most = settings.SHOAL_UPLOAD_OPEN_LIMIT
    found = Upload.everything.filter(created_by=user, state__in=COMING).count()
    if most and found >= most:
        raise TooManyUploads(
            f"You have {found} unfinished uploads; {most} are allowed.",
            hints=(
                "Finish or delete some of them.",
                "An administrator may raise SHOAL_UPLOAD_OPEN_LIMIT.",
            ),
            extra={"open": found, "limit": most},
        )


def _quota_check(user: User, size: int) -> None:
    quota = settings.SHOAL_UPLOAD_QUOTA_BYTES
    held = _held(user) if quota else 0
    if not quota or held + size <= quota:
        return
    raise UploadQuotaExceeded(
        f"The upload has {size} bytes, and your unfinished and unregistered uploads hold {held}; "
        f"{quota} are allowed together.",
        hints=(
            "Register, finish or delete some of your uploads.",
            "An administrator may raise SHOAL_UPLOAD_QUOTA_BYTES.",
        ),
        extra={"held_bytes": held, "quota_bytes": quota},
    )


def _held(user: User) -> int:
    """Bytes of uploads that no version came from, in whatever project."""
    rows = selectors.uploads_unregistered().filter(created_by=user)
    return int(rows.aggregate(bytes=Sum("size", default=0))["bytes"])


def _room_check(size: int, *, promised: int) -> None:
    where = Path(settings.SHOAL_UPLOAD_DIR)
    free, kept = disk.free_bytes(where), disk.reserve_bytes(where)
    room = max(0, free - kept - promised)
    if size > room:
        raise DiskFull(
            f"{size} bytes are to come; there is room for {room}: the disk of the uploads has "
            f"{free} bytes left, of which {kept} are kept for the database and {promised} are "
            "promised to running uploads.",
            hints=(
                "Free space on the server, or wait until running uploads have ended.",
                "An administrator may change SHOAL_UPLOAD_RESERVE_BYTES.",
            ),
            extra={"free_bytes": free, "reserve_bytes": kept, "promised_bytes": promised},
        )
