"""Since when a client has neither read nor said anything, as far as looking can tell."""

from collections.abc import Iterable

from worker_runtime.protocols.grpc.native.answering import Answering
from worker_runtime.protocols.grpc.native.call import Call

PIECE = 16 * 1024  # bytes of a frame or a message that must come in each of its time-outs


class Standstill:
    """Of one connection. Times are those of the monotonic clock, in seconds."""

    __slots__ = ("_arriving", "_calls", "_held", "_opening", "_said", "_sent")

    def __init__(self) -> None:
        # bytes that wait, when the socket was full, unchanged since (None: not looked at yet)
        self._sent: tuple[int, float, float | None] = (0, 0.0, None)
        self._said = (-1, False, 0.0)  # the last stream, whether there are calls, unchanged since
        self._opening: tuple[object, float] | None = None  # since when
        self._held: tuple[bytearray, int, float] | None = None  # bytes that were there, and when
        self._calls: dict[int, tuple[int, float]] = {}  # bytes that wait of a call, since when
        self._arriving: dict[int, tuple[int, float]] = {}  # bytes of it that were there, and when

    def unread_s(self, now: float, waiting: int, full_at: float) -> float:
        """How long the socket takes none of the bytes that wait."""
        before, was_full_at, since = self._sent
        moved = not waiting or waiting < before or full_at != was_full_at
        if moved or since is None:
            since = now
        self._sent = (waiting, full_at, since)
        return now - since

    def quiet_s(self, now: float, last_stream: int, *, calls: bool) -> float:
        """How long no call is opened or ended."""
        if self._said[:2] != (last_stream, calls):
            self._said = (last_stream, calls, now)
        return now - self._said[2]

    def opening_s(self, now: float, opening: object | None) -> float:
        """How long the connection, or a header block, is being opened."""
        if opening is None:
            self._opening = None
            return 0.0
        if self._opening is None or self._opening[0] is not opening:
            self._opening = (opening, now)
        return now - self._opening[1]

    def held_s(self, now: float, held: bytearray, left: int) -> float:
        """How long less than a piece has come of a frame that is not whole.

        ``held`` is what there is of it, ``left`` how much is to come where that is no more than
        its head.
        """
        seen, arrived = self._held, len(held) - left
        # why ``is``: another frame may begin with the same bytes.
        if not held or seen is None or seen[0] is not held or arrived - seen[1] >= PIECE:
            self._held = seen = (held, arrived, now)
        return now - seen[2]

    def unread_calls(
        self, now: float, blocked: Iterable[Answering], most_s: float
    ) -> list[Answering]:
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

    def late_calls(
        self, now: float, calls: Iterable[Call], head_s: float, body_s: float
    ) -> list[Call]:
        """The calls whose clients do not say what they have begun to say."""
        before, self._arriving = self._arriving, {}
        found = []
        for call in calls:
            if (arrived := call.arrived) < 0:
                continue
            was, since = before.get(call.id, (arrived, now))
            if arrived < was or arrived - was >= PIECE:
                was, since = arrived, now
            self._arriving[call.id] = (was, since)
            most_s = body_s if arrived else head_s
            if most_s and now - since >= most_s:
                found.append(call)
        return found
