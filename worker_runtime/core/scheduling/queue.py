"""Requests that wait: by priority level, bounded, with deadlines."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from worker_runtime.errors import QueueFull
from worker_runtime.types.request import InferRequest


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Times in nanoseconds; 0 means none. ``delay`` moves expired requests back, not out."""

    max_size: int = 0
    timeout_ns: int = 0
    allow_override: bool = False
    delay: bool = False

    def deadline(self, now_ns: int, requested_ns: int) -> int:
        """When a request that arrives now expires (0: never).

        As in Triton a request may only shorten a timeout that the model has, and only if allowed.
        """
        timeout = self.timeout_ns
        if self.allow_override and requested_ns and requested_ns < timeout:
            timeout = requested_ns
        return now_ns + timeout if timeout else 0


@dataclass(frozen=True, slots=True)
class QueueConfig:
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


class RequestQueue:
    """The waiting line of one model version. Not thread-safe: it lives in the event loop."""

    def __init__(self, config: QueueConfig | None = None) -> None:
        self._config = config or QueueConfig()
        count = max(1, self._config.levels)
        # Two lines per level: the regular one, and behind it what a timeout moved back.
        self._lines: list[deque[InferRequest]] = [deque() for _ in range(2 * count)]
        self._plain = self._lines[0] if count == 1 else None
        policies = [self._config.policy(level) for level in range(1, count + 1)]
        self.has_policy = count > 1 or any(p.max_size or p.timeout_ns for p in policies)
        self._has_deadlines = any(policy.timeout_ns for policy in policies)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, request: InferRequest, now_ns: int, timeout_ns: int = 0) -> None:
        """Append. Raises QueueFull; ``timeout_ns`` is what the request asked for."""
        if not self.has_policy:
            self._lines[0].append(request)
            self._size += 1
            return
        level = self._config.level(request.priority)
        policy = self._config.policy(level)
        regular, delayed = self._lines[2 * level - 2 : 2 * level]
        if policy.max_size and len(regular) + len(delayed) >= policy.max_size:
            raise QueueFull("Exceeds maximum queue size")
        request.deadline_ns = policy.deadline(now_ns, timeout_ns)
        request.priority = level
        regular.append(request)
        self._size += 1

    def __iter__(self) -> Iterator[InferRequest]:
        """From the front: level by level, delayed ones behind the regular ones of their level."""
        if self._plain is not None and not self._lines[1]:
            return iter(self._plain)
        return chain.from_iterable(self._lines)

    def take(self, count: int) -> list[InferRequest]:
        """Remove and return the first ``count``."""
        taken: list[InferRequest] = []
        for line in self._lines:
            while line and len(taken) < count:
                taken.append(line.popleft())
            if len(taken) == count:
                break
        self._size -= len(taken)
        return taken

    def remove(self, request: InferRequest) -> bool:
        """Take a request out of the line; False when it is not (or no longer) in it."""
        for line in self._lines:
            for position, waiting in enumerate(line):
                if waiting is request:
                    del line[position]
                    self._size -= 1
                    return True
        return False

    def sweep(self, now_ns: int) -> list[InferRequest]:
        """Move out the requests whose deadline passed; delayed ones only change their line."""
        if not self._has_deadlines:
            return []
        expired: list[InferRequest] = []
        for level in range(1, len(self._lines) // 2 + 1):
            regular, delayed = self._lines[2 * level - 2 : 2 * level]
            late = [r for r in regular if r.deadline_ns and r.deadline_ns <= now_ns]
            if not late:
                continue
            gone = set(map(id, late))
            kept = [r for r in regular if id(r) not in gone]
            regular.clear()
            regular.extend(kept)
            if self._config.policy(level).delay:
                delayed.extend(late)
            else:
                expired.extend(late)
        self._size -= len(expired)
        return expired

    def next_deadline(self) -> int:
        """The earliest deadline in a regular line, 0 when there is none."""
        if not self._has_deadlines:
            return 0
        return min(
            (r.deadline_ns for line in self._lines[::2] for r in line if r.deadline_ns), default=0
        )

    def clear(self) -> list[InferRequest]:
        return self.take(self._size)
