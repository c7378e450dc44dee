"""Jobs of the core, by name."""

from celery import shared_task

from controlplane.core import audit


@shared_task(name="core.seal_events")
def seal_events() -> None:
    audit.seal()
