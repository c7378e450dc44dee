"""Wake-ups of a gateway's agent: a stream that a thread of its own reads (``wire.wake_up``).

Everything works without it, by polling more often.
"""

import logging
import random
import threading
import time
from typing import Final

from controlplane.gateway.control_client import ControlPlaneClient, ControlPlaneUnavailable
from wire.wake_up import LIFE_S, WAKE_UP

logger = logging.getLogger("controlplane.gateway.wake_ups")

FIRST_DELAY_S: Final = 1.0
LONGEST_DELAY_S: Final = 30.0
SILENCE_S: Final = 3 * LIFE_S


class WakeUps:
    """Sets ``heard`` at each wake-up, and when the stream has been opened (again)."""

    def __init__(self, client: ControlPlaneClient) -> None:
        self.heard = threading.Event()
        self._client = client
        self._flows_until = 0.0
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def flow(self) -> bool:
        """The stream is open, and not silent for too long."""
        return time.monotonic() < self._flows_until

    def start(self) -> None:
        """However often it is called: there is one thread."""
        if self._thread is None:
            # why a daemon: it may be reading, and what it reads is nothing to wait for
            self._thread = threading.Thread(target=self._listen, name="wake-ups", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._closed.set()

    def _listen(self) -> None:
        delay_s, lost = FIRST_DELAY_S, False
        while not self._closed.is_set():
            try:
                for line in self._client.wake_ups():
                    self._flows_until = time.monotonic() + SILENCE_S
                    if lost:
                        logger.info("Wake-ups arrive again")
                    delay_s, lost = FIRST_DELAY_S, False
                    if line == WAKE_UP:
                        self.heard.set()
                    if self._closed.is_set():
                        return
                reason = "the control plane ended it"
            except ControlPlaneUnavailable as error:
                reason = str(error)
            self._flows_until = 0.0
            if not lost:
                logger.warning("No wake-ups, the control plane is polled meanwhile: %s", reason)
                lost = True
            self._closed.wait(delay_s * random.uniform(0.75, 1.25))  # noqa: S311
            delay_s = min(LONGEST_DELAY_S, delay_s * 2)
