"""Since when a client has neither read nor said anything, as far as looking can tell."""

from collections.abc import Iterable

from worker_runtime.protocols.grpc.native.call import Call


class Standstill:
    """Of one connection. Times are those of the monotonic clock, in seconds."""

    __slots__ = ("_calls", "_received", "_sent")

    def __init__(self) -> None:
        self._sent = (0, 0.0, 0.0)  # bytes that wait, when the socket was full, unchanged since
        self._received: tuple[bytearray, int, int, int, bool, float] | None = None  # since when
        self._calls: dict[int, tuple[int, float]] = {}  # bytes that wait of a call, since when

    def unread_s(self, now: float, waiting: int, full_at: float) -> float:
        """How long the socket takes none of the bytes that wait."""
        before, was_full_at, since = self._sent
        if not waiting or waiting < before or full_at != was_full_at:
            since = now
        self._sent = (waiting, full_at, since)
        return now - since

    def quiet_s(
        self, now: float, held: bytearray, left: int, last_stream: int, *, calls: bool
    ) -> float:
        """How long nothing is said.

        ``held`` is what there is of a frame that is not whole, ``left`` how much is to come of one
        of which no more is held than its head.
        """
        seen, received = (len(held), left, last_stream, calls), self._received
        # why ``is``: another frame may begin with the same bytes.
        if received is None or received[0] is not held or received[1:5] != seen:
            self._received = received = (held, *seen, now)
        return now - received[5]

    def unread_calls(self, now: float, blocked: Iterable[Call], most_s: float) -> list[Call]:
        """The calls whose answers wait for a window for so long."""
        before, self._calls = self._calls, {}
        found = []
        for call in blocked:
            queued, since = before.get(call.id, (0, now))
            if not call.queued or call.queued != queued:
                since = now
            self._calls[call.id] = (call.queued, since)
            if now - since >= most_s:
                found.append(call)
        return found
