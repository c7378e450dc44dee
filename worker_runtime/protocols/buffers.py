"""How many bytes clients may have held here: of requests that arrive or wait, of unread answers."""

from collections.abc import Iterator

from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.observability.metrics.text import Family

BUFFERED = ("shoal_buffered_bytes", "Bytes of unanswered requests and of unread answers")
NO_ROOM = (
    "too many bytes of unanswered requests and unread answers are held: try again later, or see "
    "--max-buffered-bytes and --max-buffered-bytes-per-connection"
)
# A request of fewer bytes is not counted: what else there is of it takes as much.
UNCOUNTED = 4096


class Buffers:
    """What all connections hold together, in bytes; 0: any number."""

    def __init__(self, most: int, most_per_connection: int, refusals: Refusals) -> None:
        self.most = most
        self.most_per_connection = most_per_connection
        self.refusals = refusals
        self.held = 0

    def collect(self) -> Iterator[Family]:
        family = Family(*BUFFERED, "gauge")
        family.add({}, self.held)
        yield family


class Account:
    """What one connection holds."""

    __slots__ = ("_buffers", "_protocol", "held")

    def __init__(self, buffers: Buffers, protocol: str) -> None:
        self._buffers = buffers
        self._protocol = protocol
        self.held = 0

    def take(self, size: int) -> bool:
        """Count ``size`` bytes; False, and none are, when they would be too many."""
        buffers = self._buffers
        if buffers.most and buffers.held + size > buffers.most:
            buffers.refusals.count(self._protocol, "too many bytes are held in all")
            return False
        most = buffers.most_per_connection
        if most and self.held + size > most:
            buffers.refusals.count(self._protocol, "too many bytes are held of a connection")
            return False
        buffers.held += size
        self.held += size
        return True

    def give(self, size: int) -> None:
        """They are no longer held."""
        self._buffers.held -= size
        self.held -= size

    def refused(self, reason: str) -> None:
        """Count what is turned away for another reason."""
        self._buffers.refusals.count(self._protocol, reason)

    def close(self) -> None:
        self.give(self.held)
