"""Jobs of the core, by name."""

import logging

from celery import shared_task

from controlplane.core import anchors, audit

logger = logging.getLogger(__name__)


@shared_task(name="core.seal_events")
def seal_events() -> None:
    try:
        audit.seal()
    except audit.KeyIsAnother as error:
        logger.error("Events are not sealed. %s", error.message)


@shared_task(name="core.send_anchor")
def send_anchor(line: str) -> None:
    anchors.send(line)
