"""Jobs of the core, by name."""

from celery import shared_task

from controlplane.core import anchors, audit


@shared_task(name="core.seal_events")
def seal_events() -> None:
    audit.seal()


@shared_task(name="core.send_anchor")
def send_anchor(line: str) -> None:
    anchors.send(line)
