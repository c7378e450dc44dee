"""The job whose only purpose is to be done."""

from typing import Any

from celery import Task, shared_task
from django.utils import timezone

from controlplane.system import services


@shared_task(name="system.pulse", bind=True)
def pulse(self: "Task[Any, Any]", of: str) -> None:
    services.pulse_note(
        queue=of,
        worker=str(self.request.hostname or ""),
        sent_at=getattr(self.request, "shoal_sent_at", None),
        now=timezone.now(),
    )
