"""Whom the server turned away or let go to protect itself and the others: counted, and reported."""

import logging
from collections import Counter
from collections.abc import Iterator
from time import monotonic

from worker_runtime.observability.metrics.text import Family

logger = logging.getLogger(__name__)

REFUSALS = ("shoal_refusals_total", "Connections and calls that were refused or ended, by reason")
_QUIET_S = 10.0  # between two lines about the same


class Refusals:
    """By protocol and reason. An attack is one line every ten seconds, not one for each try."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._reported: dict[tuple[str, str], tuple[float, int]] = {}  # when, and how many by then

    def count(self, protocol: str, reason: str) -> None:
        key = (protocol, reason)
        self.counts[key] += 1
        now = monotonic()
        reported_at, reported = self._reported.get(key, (-_QUIET_S, 0))
        if now - reported_at >= _QUIET_S:
            self._reported[key] = (now, self.counts[key])
            logger.warning("%s: %s (%d times)", protocol, reason, self.counts[key] - reported)

    def collect(self) -> Iterator[Family]:
        family = Family(*REFUSALS, "counter")
        for (protocol, reason), count in self.counts.items():
            family.add({"protocol": protocol, "reason": reason}, count)
        yield family
