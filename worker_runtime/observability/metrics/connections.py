"""What is open at the doors: connections, and requests that have no answer yet."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from worker_runtime.observability.metrics.text import Family

CONNECTIONS = ("shoal_connections", "Open connections of clients")
IN_FLIGHT = ("shoal_in_flight_requests", "Requests received and not answered yet")


class Load(NamedTuple):
    connections: int
    in_flight: int


class DoorFamilies:
    """``doors`` by protocol; a door that cannot tell gives None and is left out."""

    def __init__(self, doors: Callable[[], Mapping[str, Load | None]]) -> None:
        self._doors = doors

    def collect(self) -> Iterator[Family]:
        connections, in_flight = Family(*CONNECTIONS, "gauge"), Family(*IN_FLIGHT, "gauge")
        for protocol, load in self._doors().items():
            if load is not None:
                connections.add({"protocol": protocol}, load.connections)
                in_flight.add({"protocol": protocol}, load.in_flight)
        yield from (connections, in_flight)
