"""Jobs of alerts, by name."""

from celery import shared_task
from django.utils import timezone

from controlplane.alerts.services import deliveries, keeping, looks
from controlplane.core import jobs


@shared_task(name="alerts.look")
def alerts_look() -> None:
    try:
        looks.alerts_look(now=timezone.now())
    finally:  # what was made before is told again, whatever came of this look
        if deliveries.deliveries_due(timezone.now()).exists():
            jobs.enqueue("alerts.deliver", expires_s=15)


@shared_task(name="alerts.deliver")
def alerts_deliver() -> None:
    deliveries.deliver(now=timezone.now())


@shared_task(name="alerts.prune")
def alerts_prune() -> None:
    keeping.alerts_prune(now=timezone.now())
