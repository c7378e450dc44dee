"""Pure: the models of a deployment as the steps of a pipeline: what each is doing, which of them it
calls, which one takes the time, which one fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST: Final = 10.0  # requests in the window, to say which step takes the time
RISE: Final = 1.5  # times as many failures as before: more than chance, for a few a second
NEARLY: Final = 0.9  # of the largest share: so near a second one, none stands out


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures:
    """Calls (BLS) that one model makes of another. ``calls`` ended since its replicas loaded it,
    the last at ``last_at`` (Unix seconds); the rest is of the window: ``rate`` and ``failed`` per
    second (``rate`` None: not measured), ``total_us`` the sum of durations, ``ended`` how many."""

    caller: str
    callee: str
    calls: float
    last_at: float
    rate: float | None = None
    ended: float = 0.0
    total_us: float = 0.0
    failed: float = 0.0

    @property
    def mean_us(self) -> float | None:
        return self.total_us / self.ended if self.ended > 0 else None

    def per_request(self, requests: float) -> float | None:
        """How many a request of the caller leads to, of which ``requests`` ended in the window."""
        return self.ended / requests if requests > 0 and self.ended > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigures:
    """One model over the window. None: nothing was measured, or nothing was asked of it.

    ``requests`` is how many it answered in the window, ``queue_us`` and ``compute_us`` are means
    over them. ``failed`` are failures per second in the last seconds, ``failed_before`` in the time
    before these; what clients gave up is not among them. ``busy_us`` is the time of its instances
    in the window, ``calls`` are those that it makes.
    """

    name: str
    step: bool = False  # of an ensemble
    executes: bool = True  # has instances of its own: an ensemble has none
    requests: float = 0.0
    request_rate: float | None = None
    request_us: float | None = None
    queue_us: float | None = None
    compute_us: float | None = None
    mean_batch: float | None = None
    busy: float | None = None
    busy_us: float = 0.0
    pending: float | None = None
    failed: float = 0.0
    failed_before: float = 0.0
    calls: Sequence[CallFigures] = ()

    @property
    def own_us(self) -> float:
        """Of its computing, what it does not wait for the models that it calls. It waits no longer
        than it is at work, however many calls go on at once."""
        called_us = sum(one.total_us for one in self.calls)
        waits = min(1.0, called_us / self.busy_us) if self.busy_us > 0 else 0.0
        return (self.compute_us or 0.0) * (1.0 - waits)

    @property
    def spent_us(self) -> float:
        """By all of its requests together, waiting and computing."""
        if not self.executes:
            return 0.0
        return self.requests * ((self.queue_us or 0.0) + self.own_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """``share`` of the time of all steps. ``slow`` says of what its time is made, ``queue`` or
    ``compute``; ``faulty`` is ``rising`` or ``failing``. Empty: not marked."""

    figures: StepFigures
    share: float | None = None
    slow: str = ""
    faulty: str = ""


def marked(steps: Sequence[StepFigures]) -> list[Marked]:
    """At most one is slow: that with the largest share, where no other takes nearly as much."""
    whole = sum(one.spent_us for one in steps)
    # why: an ensemble fails because of a step, and it is the step that is to be found
    known = any(one.executes and one.failed > 0 for one in steps)
    slow = _slowest(steps)
    return [
        Marked(
            figures=one,
            share=one.spent_us / whole if whole > 0 and one.executes else None,
            slow=_made_of(one) if one is slow else "",
            faulty="" if known and not one.executes else _faulty(one),
        )
        for one in steps
    ]


def _slowest(steps: Sequence[StepFigures]) -> StepFigures | None:
    asked = [one for one in steps if one.executes and one.requests > 0]
    if len(asked) < 2 or max(one.requests for one in asked) < LEAST:
        return None
    first, second = sorted(asked, key=lambda one: -one.spent_us)[:2]
    return first if second.spent_us < NEARLY * first.spent_us else None


def _made_of(one: StepFigures) -> str:
    return "queue" if (one.queue_us or 0.0) > one.own_us else "compute"


def _faulty(one: StepFigures) -> str:
    if one.failed <= 0:
        return ""
    return "rising" if one.failed > RISE * one.failed_before else "failing"
