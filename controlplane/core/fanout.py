"""Fan-out over Redis: a hint to look now, from whoever changed a row to every web process.

Rows are the truth. A hint is sent on commit and may get lost, so whoever hears hints also looks by
itself now and then.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

from controlplane.core.breaker import Breaker

logger = logging.getLogger(__name__)

SEND_S = 1.0
RETRY_S: Final = 5.0
# Redis forgets who listens when it is flushed, channels_redis after a day: then silence sets in.
LISTEN_AGAIN_S: Final = 30.0
redis = Breaker(rest_s=5.0)


def send_on_commit(group: str, hint: dict[str, Any]) -> None:
    """Send ``hint`` to all who hear ``group`` once the transaction commits; an equal one once.

    Without Redis that costs the caller a second at most, now and then, and raises nothing.
    """
    told, connection = _Hint(group, hint), transaction.get_connection()
    held = set(connection.savepoint_ids)
    # why only those: a savepoint that is rolled back takes its hints along
    if not any(other == told and sids <= held for sids, other, *_ in connection.run_on_commit):
        transaction.on_commit(told)


@dataclass(frozen=True, slots=True)
class _Hint:
    """Sends itself when it is called."""

    group: str
    hint: dict[str, Any]

    def __call__(self) -> None:
        _send(self.group, self.hint)


def _send(group: str, hint: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None or redis.resting:
        return
    try:
        async_to_sync(_group_send)(layer, group, hint)
    except Exception as error:
        redis.failed()
        logger.warning("No hint to %s, Redis is unreachable: %s", group, error)


async def _group_send(layer: Any, group: str, hint: dict[str, Any]) -> None:
    # why bounded here: the layer's own sockets must not time out, for they wait for hints
    async with asyncio.timeout(SEND_S):
        await layer.group_send(group, hint)


async def heard(group: str) -> AsyncIterator[dict[str, Any]]:
    """The hints to ``group`` for ever; while Redis is unreachable there are none."""
    layer = get_channel_layer()
    failing = False
    while layer is not None:
        try:
            channel = await layer.new_channel()
            while True:
                await layer.group_add(group, channel)
                failing = False
                with contextlib.suppress(TimeoutError):
                    while True:
                        async with asyncio.timeout(LISTEN_AGAIN_S):
                            hint = await layer.receive(channel)
                        yield hint
        except Exception as error:
            # why any: Redis clients raise many kinds, and a hint is never worth a crash
            if not failing:
                logger.warning("No hints of %s, Redis is unreachable: %s", group, error)
            failing = True
            await asyncio.sleep(RETRY_S)
