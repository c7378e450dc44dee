"""Jobs of deployments, by name."""

from celery import shared_task

from controlplane.core import jobs
from controlplane.deployments.services.deployments import logs_sweep
from controlplane.nodes.services import nodes_wake


@shared_task(name="deployments.logs_sweep")
def deployments_logs_sweep() -> None:
    logs_sweep()


@shared_task(name="deployments.wake_nodes")
def deployments_wake_nodes() -> None:
    nodes_wake()
    jobs.alongside("registry.resume_ingests")
