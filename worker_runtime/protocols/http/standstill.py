"""Since when a client has neither read nor said anything, as far as looking can tell."""

from typing import NamedTuple

from worker_runtime.protocols.sweeping import SWEEP_S
from worker_runtime.types.listening import ConnectionLimits


class State(NamedTuple):
    """``unread`` bytes of answers wait for the client, ``progress`` grows with what comes in.

    ``busy``: a request is being answered; ``stalled``: one has begun and is not complete.
    """

    unread: int
    progress: int
    busy: bool
    stalled: bool


class Standstill:
    """Of one connection. Times are those of the monotonic clock, in seconds.

    ``late`` is how many bytes of a stream were written since the socket is full, ``resumed`` how
    often it was not full any more.
    """

    __slots__ = ("_received", "_sent", "late", "resumed")

    def __init__(self) -> None:
        self.late = 0
        self.resumed = 0
        self._received = (-1, False, 0.0)  # progress and whether busy, unchanged since
        self._sent = (0, 0, 0.0)  # bytes that wait without the late ones, resumed, unchanged since

    def resume(self) -> None:
        """The socket takes bytes again."""
        self.late = 0
        self.resumed += 1

    def overdue(self, now: float, limits: ConnectionLimits, state: State) -> str:
        """Why the connection is let go, "" when it is not."""
        unread, progress, busy, stalled = state
        before, resumed, since = self._sent
        if not unread or unread - self.late < before or resumed != self.resumed:
            since = now
        self._sent = (unread - self.late, self.resumed, since)
        if unread:
            late = limits.unread_s and now - since >= limits.unread_s
            return "answers are not read" if late else ""
        if self._received[:2] != (progress, busy):
            self._received = (progress, busy, now)
        quiet_s = now - self._received[2]
        if stalled:
            return "a request is not completed" if quiet_s >= SWEEP_S else ""
        idle = not busy and limits.idle_s and quiet_s >= limits.idle_s
        return "nothing is asked" if idle else ""
