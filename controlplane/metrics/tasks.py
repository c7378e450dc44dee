"""Jobs of metrics, by name."""

import time

from celery import shared_task

from controlplane.metrics import services


@shared_task(name="metrics.prune")
def metrics_prune() -> None:
    services.prune(now=time.time())
    services.thin(now=time.time())


@shared_task(name="metrics.roll_up")
def metrics_roll_up() -> None:
    services.roll_up(now=time.time())
