"""Requests that wait: by priority level, bounded, with deadlines."""

from bisect import insort
from collections import deque
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from worker_runtime.errors import QueueFull
from worker_runtime.types.request import InferRequest

_KEPT_LEVELS = 16


class QueuePolicy(Struct, frozen=True):
    """Times in nanoseconds; 0 means none. ``delay`` moves expired requests back, not out.

    Who waited for ``longest_ns`` goes out all the same: the server's own cap.
    """

    max_size: int = 0
    timeout_ns: int = 0
    allow_override: bool = False
    delay: bool = False
    longest_ns: int = 0

    def capped(self, longest_ns: int) -> "QueuePolicy":
        """This policy in a queue where nobody may wait longer; 0: no cap."""
        return replace(self, longest_ns=longest_ns) if longest_ns else self

    def deadline(self, now_ns: int, requested_ns: int) -> int:
        """When a request that arrives now expires (0: never).

        As in Triton a request may only shorten a timeout that the model has, and only if allowed.
        """
        timeout = self.timeout_ns
        if self.longest_ns and not 0 < timeout < self.longest_ns:
            timeout = self.longest_ns
        if self.allow_override and requested_ns and requested_ns < timeout:
            timeout = requested_ns
        return now_ns + timeout if timeout else 0


class QueueConfig(Struct, frozen=True):
    """``levels`` 0 or 1: one first-in first-out line. Level 1 goes first."""

    levels: int = 0
    default_level: int = 0
    default: QueuePolicy = field(default_factory=QueuePolicy)
    by_level: dict[int, QueuePolicy] = field(default_factory=dict)

    def level(self, requested: int) -> int:
        """0 and numbers above the last level mean the default level."""
        if self.levels <= 1:
            return 1
        return requested if 1 <= requested <= self.levels else self.default_level

    def policy(self, level: int) -> QueuePolicy:
        return self.by_level.get(level, self.default)


class _Level:
    """``regular``, and behind it what a timeout moved back."""

    __slots__ = ("delayed", "policy", "regular")

    def __init__(self, policy: QueuePolicy) -> None:
        self.policy = policy
        self.regular: deque[InferRequest] = deque()
        self.delayed: deque[InferRequest] = deque()

    def __iter__(self) -> Iterator[InferRequest]:
        return chain(self.regular, self.delayed)

    def __bool__(self) -> bool:
        return bool(self.regular or self.delayed)


def _late(line: deque[InferRequest], now_ns: int) -> list[InferRequest]:
    """Take those out whose deadline has passed, in their order."""
    late = [request for request in line if 0 < request.deadline_ns <= now_ns]
    if late:
        kept = [request for request in line if not 0 < request.deadline_ns <= now_ns]
        line.clear()
        line.extend(kept)
    return late


class RequestQueue:
    """The waiting line of one model version. Not thread-safe: it lives in the event loop.

    Levels are made when something waits in them: a model may have any number.
    """

    def __init__(self, config: QueueConfig | None = None) -> None:
        self._config = config = config or QueueConfig()
        policies = [config.default, *config.by_level.values()]
        self.has_policy = config.levels > 1 or any(
            p.max_size or p.timeout_ns or p.allow_override or p.longest_ns for p in policies
        )
        self._levels: dict[int, _Level] = {}
        self._order: list[int] = []
        self._plain = self._at(1).regular  # of a queue without policy: the only line
        self._size = 0
        self._soonest = 0  # no deadline is before this one (0: there is none)

    def __len__(self) -> int:
        return self._size

    def push(self, request: InferRequest, now_ns: int, timeout_ns: int = 0) -> None:
        """Append. Raises QueueFull; ``timeout_ns`` is what the request asked for.

        A ``deadline_ns`` that the request has already (its client will not wait longer) holds too.
        """
        if not self.has_policy:
            if not request.deadline_ns:
                self._plain.append(request)
                self._size += 1
                return
            self.has_policy = True
        number = self._config.level(request.priority)
        level = self._at(number)
        policy = level.policy
        if policy.max_size and len(level.regular) + len(level.delayed) >= policy.max_size:
            raise QueueFull("Exceeds maximum queue size")
        deadline = policy.deadline(now_ns, timeout_ns)
        if request.deadline_ns:
            deadline = min(deadline or request.deadline_ns, request.deadline_ns)
        request.deadline_ns = deadline
        if deadline and (not self._soonest or deadline < self._soonest):
            self._soonest = deadline
        request.priority = number
        level.regular.append(request)
        self._size += 1

    def __iter__(self) -> Iterator[InferRequest]:
        """From the front: level by level, delayed ones behind the regular ones of their level."""
        if not self.has_policy:
            return iter(self._plain)
        return chain.from_iterable([self._levels[number] for number in self._order])

    def take(self, count: int) -> list[InferRequest]:
        """Remove and return the first ``count``."""
        if not self.has_policy:
            plain = self._plain
            taken = [plain.popleft() for _ in range(min(count, self._size))]
        else:
            taken = []
            for number in self._order:
                level = self._levels[number]
                for line in (level.regular, level.delayed):
                    while line and len(taken) < count:
                        taken.append(line.popleft())
            self._tidy()
        self._size -= len(taken)
        return taken

    def remove(self, request: InferRequest) -> bool:
        """Take a request out of the line; False when it is not (or no longer) in it."""
        for level in self._levels.values():
            for line in (level.regular, level.delayed):
                try:
                    line.remove(request)
                except ValueError:
                    continue
                self._size -= 1
                return True
        return False

    def sweep(self, now_ns: int) -> list[InferRequest]:
        """Move out the requests whose deadline passed; delayed ones only change their line."""
        if not self._soonest or now_ns < self._soonest:
            return []
        expired: list[InferRequest] = []
        for level in self._levels.values():
            expired += _late(level.delayed, now_ns)
            late = _late(level.regular, now_ns)
            if level.policy.delay:
                late = self._put_back(level, late, now_ns)
            expired += late
        self._size -= len(expired)
        waiting = [request.deadline_ns for level in self._levels.values() for request in level]
        self._soonest = min(filter(None, waiting), default=0)
        return expired

    def _put_back(self, level: _Level, late: list[InferRequest], now_ns: int) -> list[InferRequest]:
        """Let them wait on behind the others, until the cap if there is one; who is beyond it."""
        longest, expired = level.policy.longest_ns, []
        for request in late:
            request.deadline_ns = request.queued_ns + longest if longest else 0
            if longest and request.deadline_ns <= now_ns:
                expired.append(request)
            else:
                level.delayed.append(request)
        return expired

    def next_deadline(self) -> int:
        """When a request may expire: 0 for never, sometimes before it really does.

        Looking for it anew each time would cost as much as the queue is long.
        """
        return self._soonest

    def clear(self) -> list[InferRequest]:
        return self.take(self._size)

    def _at(self, number: int) -> _Level:
        level = self._levels.get(number)
        if level is None:
            level = self._levels[number] = _Level(self._config.policy(number))
            insort(self._order, number)
        return level

    def _tidy(self) -> None:
        """Forget empty levels once there are many: requests may name any of 2^64."""
        if len(self._order) <= _KEPT_LEVELS:
            return
        for number in [n for n in self._order if n != 1 and not self._levels[n]]:
            del self._levels[number]
            self._order.remove(number)
