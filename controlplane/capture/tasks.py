"""Jobs of captured data, by name."""

from celery import shared_task
from django.utils import timezone

from controlplane.capture import baselines, services


@shared_task(name="capture.summarise")
def capture_summarise() -> None:
    services.captured_summarise(now=timezone.now())


@shared_task(name="capture.compare")
def capture_compare() -> None:
    baselines.baselines_look(now=timezone.now())


@shared_task(name="capture.expire")
def capture_expire() -> None:
    services.captured_expire(now=timezone.now())
