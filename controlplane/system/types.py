"""Values of the system page: how a part does, and from when on silence is bad news."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PULSE_EVERY_S: Final = 10.0
# Two missed pulses: a long job may hold up one.
PULSE_LATE_AFTER_S: Final = 25.0
PULSE_DEAD_AFTER_S: Final = 60.0
QUEUES: Final = ("control", "ingest")
# So many jobs that wait mean that workers do not keep up.
QUEUE_LONG: Final = 100
DISK_SHORT: Final = 0.1  # of all
DISK_VERY_SHORT: Final = 0.03
CERTIFICATE_SHORT_DAYS: Final = 14
SLOW_MS: Final = 250.0


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the installation: what it is, how it does, and why we think so."""

    kind: str
    name: str
    state: State
    summary: str
    hint: str = ""
    facts: tuple[Fact, ...] = ()
    lag_s: float | None = None  # how far behind it is
    depth: int | None = None  # how many jobs wait


def pulse_state(age_s: float | None) -> State:
    """``age_s`` is None when there was never a pulse."""
    if age_s is None:
        return State.UNKNOWN
    if age_s > PULSE_DEAD_AFTER_S:
        return State.ERROR
    return State.WARNING if age_s > PULSE_LATE_AFTER_S else State.OK


def worst(states: list[State]) -> State:
    order = [State.ERROR, State.WARNING, State.UNKNOWN, State.OK]
    return min(states, key=order.index, default=State.OK)
