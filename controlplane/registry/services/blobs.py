"""Blobs that nobody names any more leave the store."""

from datetime import datetime, timedelta

from django.db import transaction

from controlplane.core import events
from controlplane.registry import selectors, storage
from controlplane.registry.models import Blob
from controlplane.registry.stores import blob_store

MIN_AGE = timedelta(hours=24)


def blobs_collect(*, now: datetime, actor: str = "system") -> int:
    """Remove blobs that no version and no upload names and that nobody stored for a day."""
    old = now - MIN_AGE
    removed = 0
    candidates = selectors.blobs_unused().filter(seen_at__lt=old)
    for sha256 in list(candidates.values_list("pk", flat=True)):
        with storage.blob_lock(exclusive=True), transaction.atomic():
            # why asked again: an upload of the same bytes may have made it young since. The row
            # stays held until the bytes are gone, so that a worker elsewhere waits and stores anew.
            row = Blob.objects.select_for_update().filter(pk=sha256, seen_at__lt=old).first()
            if row is not None:
                blob_store().remove(sha256)
                row.delete()
                removed += 1
    if removed:
        events.record(
            actor=actor,
            verb="storage.collected",
            subject="storage",
            message=f"{removed} stored file(s) that nothing names any more were removed",
            data={"removed": removed},
        )
    return removed
