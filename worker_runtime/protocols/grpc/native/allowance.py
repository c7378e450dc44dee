"""How often a client may do what costs us more than it."""

from time import monotonic

from worker_runtime.protocols.grpc.native.frames import ConnectionFault, ErrorCode

_SECONDS = 0.5


class Allowance:
    """So many a second, a few seconds' worth at once, and what was earned besides.

    Take from ``left``; ``refill`` it once it is below 0. ``per_second`` 0: any number.
    ``reason``: what a client is told when it is too many.
    """

    __slots__ = ("_burst", "_earned", "_per_second", "_reason", "_since", "left")

    def __init__(self, per_second: int, burst: int, reason: str) -> None:
        self._per_second = per_second
        self._burst = burst
        self._reason = reason
        self._since = monotonic()
        self._earned = 0
        self.left = burst

    def refill(self, earned: int) -> None:
        """Raises ConnectionFault: too many. ``earned``: how many all answers so far gave back."""
        now = monotonic()
        come = int((now - self._since) * self._per_second) + earned - self._earned
        self.left = min(self.left + come, self._burst)
        self._since, self._earned = now, earned
        if self.left < 0 and self._per_second:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, self._reason)


class StreamAges:
    """Tells streams that were opened a moment ago from those that are a second old or more.

    It looks at the clock when it is asked only, so that calls as such cost nothing; for what lies
    between half a second and one it depends on when it was asked before.
    """

    __slots__ = ("_old", "_seen", "_seen_at")

    def __init__(self) -> None:
        self._old = 0  # streams up to this one are old
        self._seen = 0  # the last one there was at _seen_at
        self._seen_at = monotonic()

    def is_young(self, stream: int, last: int) -> bool:
        """Whether ``stream`` is young; ``last`` is the last one that was opened."""
        if stream <= self._old:
            return False
        now = monotonic()
        if now - self._seen_at >= _SECONDS:
            self._old, self._seen, self._seen_at = self._seen, last, now
        return stream > self._old
