"""Since when a client has neither read nor said anything, as far as looking can tell."""

from typing import NamedTuple

from worker_runtime.types.listening import ConnectionLimits

BODY_PIECE = 16 * 1024  # bytes that must come in each of the time-outs of a body


class State(NamedTuple):
    """``unread`` bytes of answers wait for the client, ``progress`` grows with what comes in.

    ``busy``: a request is being answered. ``head_since``: when the head began that is not
    complete, None without one; ``body``: the one that is arriving, of which ``arrived`` bytes are
    there.
    """

    unread: int
    progress: int
    busy: bool
    head_since: float | None
    body: object | None
    arrived: int


class Standstill:
    """Of one connection. Times are those of the monotonic clock, in seconds.

    ``late`` is how many bytes of a stream were written since the socket is full, ``resumed`` how
    often it was not full any more.
    """

    __slots__ = ("_body", "_received", "_sent", "late", "resumed")

    def __init__(self) -> None:
        self.late = 0
        self.resumed = 0
        self._received = (-1, False, 0.0)  # progress and whether busy, unchanged since
        self._body: tuple[object, int, float] | None = None  # bytes that were there, and when
        # bytes that wait without the late ones, resumed, unchanged since (None: not looked at yet)
        self._sent: tuple[int, int, float | None] = (0, 0, None)

    def resume(self) -> None:
        """The socket takes bytes again."""
        self.late = 0
        self.resumed += 1

    def overdue(self, now: float, limits: ConnectionLimits, state: State) -> str:
        """Why the connection is let go, "" when it is not."""
        unread, progress, busy, head_since, body, arrived = state
        before, resumed, since = self._sent
        moved = not unread or unread - self.late < before or resumed != self.resumed
        if moved or since is None:
            since = now
        self._sent = (unread - self.late, self.resumed, since)
        if unread:
            late = limits.unread_s and now - since >= limits.unread_s
            return "answers are not read" if late else ""
        if self._received[:2] != (progress, busy):
            self._received = (progress, busy, now)
        quiet_s = now - self._received[2]
        if head_since is not None:
            late = limits.head_s and now - head_since >= limits.head_s
            return "a head is not completed" if late else ""
        if body is not None:
            seen = self._body
            if seen is None or seen[0] is not body or arrived - seen[1] >= BODY_PIECE:
                self._body = seen = (body, arrived, now)
            late = limits.body_s and now - seen[2] >= limits.body_s
            return "a body is not completed" if late else ""
        idle = not busy and limits.idle_s and quiet_s >= limits.idle_s
        return "nothing is asked" if idle else ""
