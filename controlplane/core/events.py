"""The one way to say that something happened: an audit row, a hint to live sockets on commit."""

import asyncio
import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

from controlplane.core import seals
from controlplane.core.breaker import Breaker
from controlplane.core.models import Event

logger = logging.getLogger(__name__)

EVENTS_GROUP = "events"
SEND_S = 1.0
redis = Breaker(rest_s=5.0)


def record(
    *,
    actor: str,
    verb: str,
    subject: str,
    message: str,
    severity: Event.Severity = Event.Severity.INFO,
    data: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> Event:
    """Append an event in the caller's transaction; sockets hear of it once that commits.

    ``before`` and ``after`` are what a change was about, by field; never secrets.
    """
    told = dict(data or {})
    if before is not None:
        told["before"] = before
    if after is not None:
        told["after"] = after
    event = Event(
        actor=actor,
        verb=verb,
        subject=subject,
        message=message,
        severity=severity,
        data=told,
    )
    event.mac = seals.event_mac(event)
    event.save(force_insert=True)
    transaction.on_commit(lambda: _announce(event.seq, subject))
    return event


def _announce(seq: int, subject: str) -> None:
    """A hint only: sockets also look at the table now and then, a lost hint costs a second."""
    layer = get_channel_layer()
    if layer is None or redis.resting:
        return
    try:
        async_to_sync(_send)(layer, {"type": "event.recorded", "seq": seq, "subject": subject})
    except Exception:
        redis.failed()
        logger.warning("Live update for event %d not announced: Redis is unreachable", seq)


async def _send(layer: Any, hint: dict[str, Any]) -> None:
    # why bounded here: the layer's own sockets must not time out, for they wait for hints
    async with asyncio.timeout(SEND_S):
        await layer.group_send(EVENTS_GROUP, hint)
