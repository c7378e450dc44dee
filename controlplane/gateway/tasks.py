"""Jobs of gateways, by name."""

from celery import shared_task
from django.utils import timezone

from controlplane.gateway import services


@shared_task(name="gateway.watch")
def gateways_watch() -> None:
    services.gateways_watch(now=timezone.now())
