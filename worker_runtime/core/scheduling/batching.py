"""The batch policy: which waiting requests leave together, and when. Pure: it is fed with time.

1. Walk from the front. Stop before the request that would exceed max_batch_size or whose batch key
   (input set and shapes) differs from the first one's: a request is never split.
2. Remember the longest prefix that adds up to exactly a preferred size, and, when the sum crosses
   the largest preferred size, the prefix before the crossing.
3. A remembered prefix leaves while the oldest request has waited less than the delay.
4. Otherwise everything walked leaves when the walk was stopped, when the sum reaches the largest
   preferred size, when there is no delay or when the oldest request has waited for it.
5. Otherwise wait until the delay of the oldest request has passed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from worker_runtime.types.request import InferRequest


@dataclass(frozen=True, slots=True)
class BatchingConfig:
    """``max_rows`` bounds a batch; ``preferred`` ascend. ``delay_ns`` 0: never wait to fill up."""

    max_rows: int = 1
    preferred: tuple[int, ...] = ()
    delay_ns: int = 0
    dynamic: bool = False


class Decision(NamedTuple):
    """Send the first ``take`` requests, or (0) look again at ``wake_ns`` (0: on arrival)."""

    take: int
    wake_ns: int = 0


NOTHING = Decision(0)
ONE = Decision(1)


class BatchPolicy:
    def __init__(self, config: BatchingConfig) -> None:
        self._dynamic = config.dynamic
        self._max_rows = max(1, config.max_rows)
        self._delay_ns = config.delay_ns
        self._preferred = frozenset(config.preferred)
        self._largest = max(config.preferred, default=self._max_rows)

    def decide(self, waiting: Iterable[InferRequest], now_ns: int) -> Decision:
        """What to do with the requests in ``waiting`` (front first) at ``now_ns``."""
        queue = iter(waiting)
        first = next(queue, None)
        if first is None:
            return NOTHING
        if not self._dynamic:
            return ONE
        key, rows, count = first.plan.batch_key, first.plan.rows, 1
        preferred = 1 if rows in self._preferred else 0
        stopped, largest = False, self._largest
        for request in queue:
            plan = request.plan
            total = rows + plan.rows
            if total > self._max_rows or plan.batch_key is not key:
                stopped = True
                break
            if rows <= largest < total:
                preferred = count
            rows = total
            count += 1
            if rows in self._preferred:
                preferred = count
        return self._settle(first, count, rows, preferred, stopped=stopped, now_ns=now_ns)

    def _settle(
        self,
        first: InferRequest,
        count: int,
        rows: int,
        preferred: int,
        *,
        stopped: bool,
        now_ns: int,
    ) -> Decision:
        if not self._delay_ns:
            # why not the preferred prefix: nothing is gained by leaving ready requests behind.
            return Decision(preferred if preferred and self._keeps_preferred(rows) else count)
        oldest_leaves_ns = first.queued_ns + self._delay_ns
        if preferred and now_ns < oldest_leaves_ns:
            return Decision(preferred)
        if stopped or rows >= self._largest or now_ns >= oldest_leaves_ns:
            return Decision(count)
        return Decision(0, oldest_leaves_ns)

    def _keeps_preferred(self, rows: int) -> bool:
        """With no delay a preferred prefix only cuts off what goes beyond the largest size."""
        return rows > self._largest
