"""Jobs of deployments, by name."""

from celery import shared_task
from django.utils import timezone

from controlplane.deployments import services
from controlplane.deployments.services.leftovers import logs_sweep
from controlplane.nodes.services import bells_ring


@shared_task(name="deployments.reconcile")
def deployments_reconcile() -> None:
    services.operations_tick(now=timezone.now())


@shared_task(name="deployments.logs_sweep")
def deployments_logs_sweep() -> None:
    logs_sweep()


@shared_task(name="deployments.ring_bells")
def deployments_ring_bells() -> None:
    bells_ring()
