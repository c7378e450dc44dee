"""The batch policy: which waiting requests leave together, and when. Pure: it is fed with time.

A payload is the batch under construction. One that is due and finds every instance busy stays open:
it grows while it waits, unless it is full. In one look at the queue:

1. Walk from the front. Stop before the request that would exceed max_batch_size or whose batch key
   (shapes, and the set of inputs) differs from the payload's: a request is never split.
2. Remember the longest prefix that makes the payload a preferred size; without one, the prefix
   before the largest preferred size is crossed (the payload is full then).
3. A remembered prefix leaves while the oldest request has waited less than the delay.
4. Otherwise everything walked leaves when the walk was stopped, when the sum reaches the largest
   preferred size, when there is no delay, when the oldest request has waited for it, or when the
   payload is due anyway and no preferred size.
5. Otherwise wait until the delay of the oldest request has passed.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from worker_runtime.core.scheduling.queue import RequestQueue
from worker_runtime.types.request import InferRequest


class BatchingConfig(Struct, frozen=True):
    """``max_rows`` bounds a batch; ``preferred`` ascend. ``delay_ns`` 0: never wait to fill up."""

    max_rows: int = 1
    preferred: tuple[int, ...] = ()
    delay_ns: int = 0
    dynamic: bool = False


class Decision(NamedTuple):
    """Send the first ``take`` requests, or (0) look again at ``wake_ns`` (0: on arrival).

    ``full``: the payload, with these, takes no more.
    """

    take: int
    wake_ns: int = 0
    full: bool = False


NOTHING = Decision(0)
ONE = Decision(1, 0, full=True)


class Payload:
    """A batch that waits for an instance. ``key`` is what its requests have in common."""

    __slots__ = ("full", "key", "requests", "rows")

    def __init__(self) -> None:
        self.requests: list[InferRequest] = []
        self.rows = 0
        self.key: Any = None
        self.full = False

    def extend(self, requests: list[InferRequest]) -> None:
        if self.key is None:
            self.key = requests[0].plan.batch_key
        self.requests.extend(requests)
        self.rows += sum([request.plan.rows for request in requests])


class BatchPolicy:
    def __init__(self, config: BatchingConfig) -> None:
        self.dynamic = config.dynamic
        self._max_rows = max(1, config.max_rows)
        self._delay_ns = config.delay_ns
        self._preferred = frozenset(config.preferred)
        self._largest = max(config.preferred, default=self._max_rows)

    @property
    def grows(self) -> bool:
        """Payloads are made before an instance is free: only a delay makes that visible."""
        return self.dynamic and self._delay_ns > 0

    def merges(self, payload: Payload, other: Payload) -> bool:
        """Two payloads that wait behind one another may start as one."""
        return payload.key is other.key and payload.rows + other.rows <= self._max_rows

    def decide(
        self,
        waiting: Iterable[InferRequest],
        now_ns: int,
        held_rows: int = 0,
        held_key: Any = None,
    ) -> Decision:
        """What to do with the requests in ``waiting`` (front first) at ``now_ns``.

        ``held_rows`` are in the open payload already (0: there is none), of key ``held_key``.
        """
        if not self.dynamic:
            for _ in waiting:
                return ONE
            return NOTHING
        key, rows, count, oldest = held_key, held_rows, 0, 0
        best, stopped, full = 0, False, False
        limit, largest, preferred = self._max_rows, self._largest, self._preferred
        for request in waiting:
            plan = request.plan
            if not rows:
                key = plan.batch_key
            else:
                total = rows + plan.rows
                if total > largest and not best:
                    best, full = count, True
                if total > limit or plan.batch_key is not key:
                    stopped = full = True
                    break
            rows += plan.rows
            count += 1
            if not oldest or request.queued_ns < oldest:
                oldest = request.queued_ns
            if rows in preferred:
                best = count
        if not count:
            return Decision(0, 0, full)
        due = stopped or rows >= largest
        growing = bool(held_rows and not full and held_rows not in preferred)
        return self._settle(count, best, oldest, now_ns, due=due, full=full, growing=growing)

    def _settle(
        self,
        count: int,
        best: int,
        oldest: int,
        now_ns: int,
        *,
        due: bool,
        full: bool,
        growing: bool,
    ) -> Decision:
        delay = self._delay_ns
        late = delay and now_ns - oldest >= delay
        if best and not late:
            return Decision(best, 0, full or not delay)
        if due:
            return Decision(count, 0, full=True)
        if late or not delay or growing:
            return Decision(count, 0, full)
        return Decision(0, oldest + delay, full)

    def gather(self, queue: RequestQueue, ready: "deque[Payload]", limit: int, now_ns: int) -> int:
        """While every instance is busy: make up to ``limit`` payloads of what is due.

        The last one grows. Returns when to look again, 0: when something changes.
        """
        while len(queue) and len(ready) < limit:
            last = ready[-1] if ready and not ready[-1].full else Payload()
            take, wake_ns, full = self.decide(queue, now_ns, last.rows, last.key)
            if not take and wake_ns:
                return wake_ns
            if take:
                if not last.requests:
                    ready.append(last)
                last.extend(queue.take(take))
            last.full = full or not take
        return 0

    def pop(self, ready: "deque[Payload]") -> list[InferRequest]:
        """What starts next: payloads behind one another start as one where they fit."""
        payload = ready.popleft()
        while ready and self.merges(payload, ready[0]):
            payload.extend(ready.popleft().requests)
        return payload.requests
