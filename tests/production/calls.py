"""Constant load, told apart: what was lost, and what of it was under way at a process that died."""

import math
import threading
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
    caller: int = 0


@dataclass
class Kill:
    """A process was ended: from when on, until when its connections were closed and a moment more,
    and when each caller had an answer to a call that it began after that."""

    began: float
    ended: float
    heard: dict[int, float] = field(default_factory=dict)

    def excuses(self, loss: Loss) -> bool:
        """It had begun before who answers this caller can have known.

        why not by time alone: on a busy machine a proxy may run long after a process has ended, and
        finds the new call and the closed connection in one moment. Who is never heard again is
        excused for ever; tests bound how many calls are.
        """
        known = max(self.ended, self.heard.get(loss.caller, math.inf))
        return loss.ended >= self.began and loss.began <= known


@dataclass
class Calls(Load):
    """``Load`` that knows when each lost call began, and how long nobody was answered."""

    failed: list[Loss] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    gap_s: float = 0.0  # the longest time between two answers, of all callers together
    _answered: float = 0.0

    @contextmanager
    def killing(self) -> Iterator[None]:
        """A process is ended without warning in this block."""
        began = time.monotonic()
        yield
        with self._counting:
            self.kills.append(Kill(began, time.monotonic() + NOTICED_S))

    @property
    def in_flight(self) -> int:
        """Lost calls that had begun when a process was killed, and had no answer yet."""
        with self._counting:
            return sum(any(kill.excuses(loss) for kill in self.kills) for loss in self.failed)

    @property
    def unexcused(self) -> int:
        """Lost calls that nobody's death explains."""
        return self.lost - self.in_flight

    def _count(self, what: str, answer: httpx.Response | None, began: float) -> None:
        super()._count(what, answer, began)
        now, caller = time.monotonic(), threading.get_ident()
        with self._counting:
            if what != "200":
                self.failed.append(Loss(began, now, what, caller))
                return
            for kill in self.kills:
                if began > kill.ended:
                    kill.heard.setdefault(caller, now)
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
