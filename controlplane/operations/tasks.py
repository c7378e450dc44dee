"""Jobs of operations, by name."""

from celery import shared_task
from django.utils import timezone

from controlplane.core import audit, jobs
from controlplane.operations import services


# why this name: beat and workers are not upgraded in one moment, and each must know the other's
@shared_task(name="deployments.reconcile")
def deployments_reconcile() -> None:
    services.looks_send()
    services.operations_tick(now=timezone.now())
    jobs.alongside("gateway.watch")
    if audit.has_unsealed():
        jobs.enqueue("core.seal_events", expires_s=5)


@shared_task(name="operations.autoscale")
def operations_autoscale() -> None:
    services.autoscale(now=timezone.now())


@shared_task(name="operations.rollouts")
def operations_rollouts(unless_within_s: float = 0.0) -> None:
    services.rollouts_look(now=timezone.now(), unless_within_s=unless_within_s)


@shared_task(name="operations.prune")
def operations_prune() -> None:
    services.operations_prune(now=timezone.now())
    services.runs_prune(now=timezone.now())
