"""The event log's background jobs."""

from celery import shared_task
from django.utils import timezone

from controlplane.events import services


@shared_task(name="events.archive")
def events_archive() -> None:
    services.events_archive(now=timezone.now())
