"""Jobs of deployments, by name."""

from celery import shared_task

from controlplane.deployments.services.deployments import logs_sweep
from controlplane.nodes.services import bells_ring


@shared_task(name="deployments.logs_sweep")
def deployments_logs_sweep() -> None:
    logs_sweep()


@shared_task(name="deployments.ring_bells")
def deployments_ring_bells() -> None:
    bells_ring()
