"""Open connections and requests in flight, and whom the server turned away, by protocol."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import NamedTuple

from worker_runtime.observability.metrics.text import Family

logger = logging.getLogger(__name__)
CONNECTIONS = ("shoal_connections", "Open connections of clients")
IN_FLIGHT = ("shoal_in_flight_requests", "Requests received and not answered yet")
REFUSALS = ("shoal_refusals_total", "Connections and calls that were refused or ended, by reason")
_QUIET_S = 10.0  # between two lines about the same


class Load(NamedTuple):
    connections: int
    in_flight: int


class ConnectionFamilies:
    """``listeners`` gives the load by protocol; None, where it is not known, is left out."""

    def __init__(self, listeners: Callable[[], Mapping[str, Load | None]]) -> None:
        self._listeners = listeners

    def collect(self) -> Iterator[Family]:
        connections, in_flight = Family(*CONNECTIONS, "gauge"), Family(*IN_FLIGHT, "gauge")
        for protocol, load in self._listeners().items():
            if load is not None:
                connections.add({"protocol": protocol}, load.connections)
                in_flight.add({"protocol": protocol}, load.in_flight)
        yield from (connections, in_flight)


class Refusals:
    """Whom the server turned away or let go to protect itself and the others.

    By protocol and reason. An attack is one line every ten seconds, not one for each try.
    """

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
