"""Ingests that nobody works on any more are sent again, and given up after some attempts."""

from datetime import datetime
from uuid import uuid4

from django.db import transaction

from controlplane.core.jobs import enqueue_on_commit
from controlplane.registry import storage
from controlplane.registry.models import Upload
from controlplane.registry.selectors import ACTIVE
from controlplane.registry.services.ingest import STALE, Ingest, ingest_fail
from controlplane.registry.states import StepCause, StepStatus, step_after

MAX_ATTEMPTS = 3


def ingests_resume(*, now: datetime) -> int:
    """Send again what no worker is at (it died, or the message was lost). Returns how many."""
    resumed = 0
    stale = Upload.objects.filter(state__in=ACTIVE, heartbeat_at__lt=now - STALE)
    for upload in stale:
        same = Upload.objects.filter(
            pk=upload.pk, claim=upload.claim, heartbeat_at=upload.heartbeat_at, state__in=ACTIVE
        )
        if upload.attempts >= MAX_ATTEMPTS:
            _give_up(upload, now)
            continue
        with transaction.atomic():
            # why the claim is cleared: a worker that only seemed dead can no longer write.
            if same.update(claim="", heartbeat_at=now):
                enqueue_on_commit("registry.ingest", queue="ingest", upload_id=upload.pk)
                resumed += 1
    return resumed


def _give_up(upload: Upload, now: datetime) -> None:
    """End an upload whose worker died each time, as with a model that exhausts the memory."""
    claim = uuid4().hex
    taken = Upload.objects.filter(
        pk=upload.pk, claim=upload.claim, heartbeat_at=upload.heartbeat_at, state__in=ACTIVE
    ).update(claim=claim, heartbeat_at=now)
    if not taken:
        return
    steps = [
        step_after(step, StepCause.FAIL) if step["status"] == StepStatus.RUNNING else step
        for step in upload.steps
    ]
    attempt = Ingest(upload, claim)
    attempt.save(steps=steps)
    ingest_fail(
        attempt,
        "WorkerDied",
        f"The worker died {upload.attempts} times while it read this file.",
        hints=("The worker may be short of memory: its log and the system's log tell.",),
    )
    storage.upload_files_remove(upload.pk)
