"""Ends a worker that has silently stopped taking tasks, so that its supervisor starts another.

After some losses of the broker a Celery worker goes on living without consuming. It shows in one
way only: messages wait in its queues, it has nothing to do, and takes none of them.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import redis

logger = logging.getLogger(__name__)

DEAF_S = 90.0
LOOK_S = 10.0
TIMEOUT_S = 2.0


class Watchdog:
    """``taken`` is called for each message; ``is_deaf`` every few seconds, from another thread."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._well_at = now()

    def taken(self) -> None:
        self._well_at = self._now()

    def is_deaf(self, *, busy: bool, waiting: int | None) -> bool:
        """``waiting``: messages in its queues; None when the broker does not say."""
        if busy or not waiting:
            self.taken()
        return self._now() - self._well_at >= DEAF_S


def start(broker_url: str, queues: tuple[str, ...], busy: Callable[[], bool]) -> Watchdog:
    """Watch this process from now on."""
    watchdog = Watchdog()
    client = redis.Redis.from_url(
        broker_url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
    )

    def watch() -> None:
        while not watchdog.is_deaf(busy=busy(), waiting=_waiting(client, queues)):
            time.sleep(LOOK_S)
        logger.error("Messages wait, and none was taken for %.0f s: this worker ends.", DEAF_S)
        logging.shutdown()
        os._exit(1)  # a warm shutdown would wait for the consumer that is gone

    threading.Thread(target=watch, name="watchdog", daemon=True).start()
    return watchdog


def _waiting(client: "redis.Redis", queues: tuple[str, ...]) -> int | None:
    try:
        lengths: list[Any] = [client.llen(queue) for queue in queues]
    except redis.RedisError:
        return None
    return sum(int(length) for length in lengths)
