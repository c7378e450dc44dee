"""Open connections and requests in flight, by protocol."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from worker_runtime.observability.metrics.text import Family

CONNECTIONS = ("shoal_connections", "Open connections of clients")
IN_FLIGHT = ("shoal_in_flight_requests", "Requests received and not answered yet")


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
