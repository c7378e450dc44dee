"""Beat, of which several may run: one sends the periodic jobs, the others wait to take over.

Which one is a lock in the broker that ends by itself: without the broker nothing could be sent. A
lock and not a schedule in the broker (celery-redbeat), which is gone with a broker's memory.
"""

import contextlib
import logging
import socket
import time
from pathlib import Path
from typing import Any, Final

import redis
from celery.beat import PersistentScheduler
from django.conf import settings
from redis.exceptions import LockError

logger = logging.getLogger(__name__)

LOCK: Final = "shoal:beat"
LIFE_S: Final = 15.0  # of the lock of a beat that is not heard of any more
LOOK_S: Final = 3.0  # between two looks at the lock
TIMEOUT_S: Final = 2.0
# Written beside the schedule at each look, whoever leads, for probes: the schedule itself is
# written every three minutes, and by some of Python's databases only where it has changed.
ALIVE: Final = ".alive"


class LedScheduler(PersistentScheduler):
    """Ticks while it leads. A beat that dies is followed within ``LIFE_S`` and ``LOOK_S``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        client = redis.Redis.from_url(
            settings.SHOAL_REDIS_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
        )
        self._lock = client.lock(LOCK, timeout=LIFE_S, blocking=False, thread_local=False)
        # why the place: who starts again where it was goes on at once, and need not outwait itself
        self._place = f"{socket.gethostname()}:{kwargs['schedule_filename']}"
        self._alive = Path(f"{kwargs['schedule_filename']}{ALIVE}")
        self._leads = False
        self._told = ""
        self._next_look = 0.0
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Seconds until the next one."""
        if time.monotonic() >= self._next_look:
            self._look()
        if not self._leads:
            return LOOK_S
        return min(float(super().tick(*args, **kwargs)), LOOK_S)

    def schedules_equal(self, old_schedules: Any, new_schedules: Any) -> bool:
        """The table is the same for as long as a beat runs: comparing each entry of it at each tick
        was a fifth of what beat does."""
        return old_schedules is not None and len(old_schedules) == len(new_schedules)

    def close(self) -> None:
        if self._leads:
            with contextlib.suppress(redis.RedisError):  # then it ends by itself
                self._lock.release()
        super().close()

    def _look(self) -> None:
        try:
            self._leads = self._take()
        except redis.RedisError as error:
            self._leads, state = False, f"no job can be sent, the broker does not answer: {error}"
        else:
            state = "this one sends the jobs" if self._leads else "another one sends the jobs"
        if state != self._told:
            logger.info("beat: %s", state)
        self._told = state
        self._alive.touch()
        self._next_look = time.monotonic() + LOOK_S

    def _take(self) -> bool:
        self._lock.local.token = self._place.encode()
        try:
            return bool(self._lock.reacquire())  # for its whole life again
        except LockError:
            return bool(self._lock.acquire(token=self._place))
