"""Jobs of nodes, by name."""

from celery import shared_task
from django.utils import timezone

from controlplane.nodes import services


@shared_task(name="nodes.expire")
def nodes_expire() -> None:
    services.nodes_expire(now=timezone.now())
