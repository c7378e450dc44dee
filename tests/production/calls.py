"""Constant load, told apart: what was lost, and what of it was under way at a process that died."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.chaos.load import Load
from tests.chaos.table import Case

# Until those who talk to a process that has ended have read that their connections have.
NOTICED_S = 0.1
COLUMNS = ("sent", "lost", "in flight", "longest gap")


@dataclass(frozen=True)
class Loss:
    """One call that failed: when it began and ended (monotonic seconds), and what came."""

    began: float
    ended: float
    what: str


@dataclass
class Calls(Load):
    """``Load`` that knows when each lost call began, and how long nobody was answered."""

    failed: list[Loss] = field(default_factory=list)
    kills: list[tuple[float, float]] = field(default_factory=list)  # from, until it is noticed
    gap_s: float = 0.0  # the longest time between two answers, of all callers together
    _answered: float = 0.0

    @contextmanager
    def killing(self) -> Iterator[None]:
        """A process is ended without warning in this block."""
        began = time.monotonic()
        yield
        self.kills.append((began, time.monotonic() + NOTICED_S))

    @property
    def in_flight(self) -> int:
        """Lost calls that had begun when a process was killed, and had no answer yet."""
        with self._counting:
            return sum(
                any(loss.began <= to and loss.ended >= since for since, to in self.kills)
                for loss in self.failed
            )

    @property
    def unexcused(self) -> int:
        """Lost calls that nobody's death explains."""
        return self.lost - self.in_flight

    def _count(self, what: str, answer: httpx.Response | None, began: float) -> None:
        super()._count(what, answer, began)
        now = time.monotonic()
        with self._counting:
            if what != "200":
                self.failed.append(Loss(began, now, what))
                return
            if self._answered:
                self.gap_s = max(self.gap_s, now - self._answered)
            self._answered = now


class Reads(Calls):
    """The same of somebody who looks at the studio's API."""

    def _send(self, client: httpx.Client) -> httpx.Response:
        return client.get(self.url)


class CallsCase(Case):
    """A row with the figures of ``Calls``."""

    def figures(self) -> tuple[str, ...]:
        calls = [load for load in self.loads if isinstance(load, Calls)]
        if not calls:
            return ("-",) * len(COLUMNS)
        sent, lost = super().figures()
        what = sum((Counter(loss.what for loss in one.failed) for one in calls), Counter[str]())
        lost += "".join(f", {count} {name}" for name, count in what.items()).replace(",", ":", 1)
        in_flight = sum(one.in_flight for one in calls)
        return (sent, lost, str(in_flight), f"{max(one.gap_s for one in calls):.2f} s")
