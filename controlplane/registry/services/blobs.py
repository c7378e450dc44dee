"""Blobs that nobody names any more leave the store."""

from datetime import datetime, timedelta

from controlplane.core import events
from controlplane.registry import selectors, storage
from controlplane.registry.models import Blob

MIN_AGE = timedelta(hours=24)


def blobs_collect(*, now: datetime, actor: str = "system") -> int:
    """Remove blobs that no version and no upload names and that nobody stored for a day."""
    old = now - MIN_AGE
    candidates = set(Blob.objects.filter(seen_at__lt=old).values_list("pk", flat=True))
    removed = 0
    for sha256 in candidates - selectors.blobs_used():
        with storage.blob_lock(exclusive=True):
            # why asked again: an upload of the same bytes may have made it young since.
            count, _ = Blob.objects.filter(pk=sha256, seen_at__lt=old).delete()
            if count:
                storage.blob_remove(sha256)
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
