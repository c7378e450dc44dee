"""What the replicas of a deployment carry at one moment."""

from dataclasses import dataclass
from typing import Final

STALE_S: Final = 10.0  # a load that is older says nothing of now


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Sums over the replicas that were sampled; None: that was not measured.

    ``at``: of the newest sample, Unix seconds. ``serving``: replicas that answer requests;
    ``sampled`` of them are in the sums. ``cpu`` and ``gpu``: 1.0 is all that one replica may use.
    ``queue_ms`` is a mean, and so is ``busy``: the share of time in which instances execute.
    """

    at: float
    serving: int
    sampled: int
    in_flight: float | None = None
    requests_per_second: float | None = None
    queue_ms: float | None = None
    cpu: float | None = None
    gpu: float | None = None
    busy: float | None = None

    @property
    def whole(self) -> bool:
        return self.sampled >= self.serving
