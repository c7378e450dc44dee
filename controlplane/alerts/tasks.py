"""Jobs of alerts, by name."""

from celery import shared_task
from django.utils import timezone

from controlplane.alerts.services import deliveries, keeping, looks


@shared_task(name="alerts.look")
def alerts_look() -> None:
    looks.alerts_look(now=timezone.now())


@shared_task(name="alerts.deliver")
def alerts_deliver() -> None:
    deliveries.deliver(now=timezone.now())


@shared_task(name="alerts.prune")
def alerts_prune() -> None:
    keeping.alerts_prune(now=timezone.now())
