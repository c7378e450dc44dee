"""What the replicas of a deployment carry at one moment."""

from dataclasses import dataclass
from typing import Final

STALE_S: Final = 10.0  # a load that is older says nothing of now
DRAIN_S: Final = 30.0  # in which what waits shall be gone
PRESSURE_MOST: Final = 20.0  # where next to nothing is answered its measure is noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Sums over the replicas that were sampled; None: that was not measured.

    ``at``: of the newest sample, Unix seconds; ``fresh_s`` later it says nothing.
    ``serving``: replicas that answer requests;
    ``sampled`` of them are in the sums. ``cpu`` and ``gpu``: 1.0 is all that one replica may use.
    ``in_flight``: requests that execute or wait, ``waiting`` of them wait, ``growth`` more each
    second, ``queued`` did in the mean; ``requests_per_second`` are answered, ``refused`` for lack
    of room.
    ``queue_ms`` is a mean, and so is ``busy``: the share of time in which instances execute.
    ``served``: requests so far, which only says whether there were any since another look.
    """

    at: float
    fresh_s: float = STALE_S
    serving: int
    sampled: int
    in_flight: float | None = None
    waiting: float = 0.0
    queued: float = 0.0
    growth: float = 0.0
    refused: float = 0.0
    requests_per_second: float | None = None
    queue_ms: float | None = None
    cpu: float | None = None
    gpu: float | None = None
    busy: float | None = None
    served: float | None = None

    @property
    def quiet(self) -> bool:
        """Nothing is in flight, and nothing has been of late."""
        carried = (self.in_flight, self.waiting, self.requests_per_second, self.refused)
        return not any(carried)

    @property
    def whole(self) -> bool:
        return self.sampled >= self.serving

    @property
    def pressure(self) -> float:
        """What should be answered over what is: above 1 where requests come that nobody has begun.

        why: all else that is measured saturates with the replicas. It would say again and again
        that a little more is needed, or take what waits for what comes.
        """
        answered = self.requests_per_second
        if not answered:
            return 1.0
        comes = answered + self.refused + self.growth + self.waiting / DRAIN_S
        return min(max(comes / answered, 0.0), PRESSURE_MOST)

    def due(self, name: str) -> float | None:
        """A sum as it would be if all were answered that should be."""
        measured: float | None = getattr(self, name)
        if measured is None:
            return None
        if name == "in_flight" and self.requests_per_second:
            return max(measured - self.waiting, 0.0) * self.pressure
        return measured * self.pressure
