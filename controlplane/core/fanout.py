"""Fan-out over Redis: a hint to look now, from whoever changed a row to every web process.

Rows are the truth. A hint is sent on commit and may get lost, so whoever hears hints also looks by
itself now and then.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Coroutine
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
    told, connection = (group, hint), transaction.get_connection()
    held = set(connection.savepoint_ids)
    # why only those: a savepoint that is rolled back takes its hints along
    waiting = [
        (sids, hints)
        for sids, hints, *_ in connection.run_on_commit
        if isinstance(hints, _Hints) and sids <= held
    ]
    if any(told in hints.told for _, hints in waiting):
        return
    together = [hints for sids, hints in waiting if sids == held]
    if together:
        together[0].told.append(told)
    else:
        transaction.on_commit(_Hints([told]))


@dataclass(frozen=True, slots=True)
class _Hints:
    """Pairs of a group and its hint, which go out together when this is called."""

    told: list[tuple[str, dict[str, Any]]]

    def __call__(self) -> None:
        layer = get_channel_layer()
        if layer is None or redis.resting:
            return
        try:
            if _thread.loop is None:
                async_to_sync(self._send)(layer)
            else:
                _thread.loop.run(self._send(layer))
        except Exception as error:
            redis.failed()
            groups = ", ".join(sorted({group for group, _ in self.told}))
            logger.warning("No hint to %s, Redis is unreachable: %s", groups, error)

    async def _send(self, layer: Any) -> None:
        # why bounded here: the layer's own sockets must not time out, for they wait for hints
        async with asyncio.timeout(SEND_S):
            for group, hint in self.told:
                await layer.group_send(group, hint)


class _Thread(threading.local):
    loop: "_Loop | None" = None


class _Loop:
    """An event loop that sends, and its connection to Redis, until its thread ends."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def run(self, sending: Coroutine[Any, Any, None]) -> None:
        self._runner.run(sending)

    def __del__(self) -> None:
        self._runner.close()


_thread = _Thread()


def keep_loop() -> None:
    """Let this thread, which has no event loop and lives long, keep one for its hints.

    Otherwise each commit would make a thread, a loop and a connection to Redis: 4 ms of CPU.
    """
    _thread.loop = _Loop()


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
