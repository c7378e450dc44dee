"""Pure: what one look makes of an alert. Facts, rule and what is remembered in; state out.

Time counts by looks, at most ``MOST_STEP_S`` for each: a clock that jumps forward, or a pause of
the evaluator, makes nothing fire or resolve; one that jumps back counts for nothing.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from controlplane.alerts.rules import Rule, Settings, broken
from controlplane.alerts.types import LOOK_EVERY_S, AlertState

MOST_STEP_S: Final = 4 * LOOK_EVERY_S
BEGUN_S: Final = 0.001  # a clear time that has begun


@dataclass(frozen=True, slots=True)
class Observation:
    """What is measured of one thing for one rule. ``value`` None: nobody can tell, and ``untold``
    says why; then whatever is known stays.

    ``limit``: the threshold that counts for it. ``burns``: where the rule is no threshold of
    ``value``, whether it is broken.
    """

    rule: str
    subject: str
    summary: str
    value: float | None
    limit: float
    part: str = ""
    project: str | None = None
    burns: bool | None = None
    untold: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.rule, self.subject, self.part


@dataclass(frozen=True, slots=True)
class Memory:
    """``state`` None: there is no alert. ``at`` in Unix seconds."""

    state: AlertState | None = None
    held_s: float = 0.0  # pending: broken for so long
    clear_s: float = 0.0  # firing: whole for so long
    at: float = 0.0


class Turn(StrEnum):
    NONE = "none"
    BEGIN = "begin"  # an alert is there, pending
    FIRE = "fire"
    RESOLVE = "resolve"
    DROP = "drop"  # it never fired


@dataclass(frozen=True, slots=True)
class Look:
    memory: Memory
    turn: Turn


def verdict(rule: Rule, seen: Observation, firing: bool) -> bool | None:
    """Whether the rule is broken; None where nobody can tell."""
    if seen.untold:
        return None
    if seen.burns is not None:
        return seen.burns
    return None if seen.value is None else broken(rule, seen.limit, seen.value, firing)


def look(memory: Memory, is_broken: bool | None, settings: Settings, now: float) -> Look:
    """One look at one thing."""
    passed_s = min(max(0.0, now - memory.at), MOST_STEP_S)
    if memory.state is None:
        return _first(is_broken, settings, now)
    if is_broken is None:
        return Look(Memory(memory.state, memory.held_s, memory.clear_s, now), Turn.NONE)
    if memory.state == AlertState.PENDING:
        return _pending(memory, is_broken, settings, passed_s, now)
    if is_broken:
        return Look(Memory(AlertState.FIRING, memory.held_s, 0.0, now), Turn.NONE)
    return _clearing(memory, settings, passed_s, now)


def _first(is_broken: bool | None, settings: Settings, now: float) -> Look:
    if not is_broken:
        return Look(Memory(), Turn.NONE)
    if settings.for_s == 0:
        return Look(Memory(AlertState.FIRING, at=now), Turn.FIRE)
    return Look(Memory(AlertState.PENDING, at=now), Turn.BEGIN)


def _pending(
    memory: Memory, is_broken: bool, settings: Settings, passed_s: float, now: float
) -> Look:
    if not is_broken:
        return Look(Memory(), Turn.DROP)
    held_s = memory.held_s + passed_s
    if held_s >= settings.for_s:
        return Look(Memory(AlertState.FIRING, held_s, 0.0, now), Turn.FIRE)
    return Look(Memory(AlertState.PENDING, held_s, 0.0, now), Turn.NONE)


def _clearing(memory: Memory, settings: Settings, passed_s: float, now: float) -> Look:
    # why nothing for the first whole look: until then it may have been broken
    clear_s = memory.clear_s + (passed_s if memory.clear_s > 0 else BEGUN_S)
    if clear_s >= settings.rule.clear_s:
        return Look(Memory(AlertState.RESOLVED, memory.held_s, clear_s, now), Turn.RESOLVE)
    return Look(Memory(AlertState.FIRING, memory.held_s, clear_s, now), Turn.NONE)


def gone(memory: Memory) -> Turn:
    """What becomes of an alert whose subject is not there any more, or whose rule is off."""
    return Turn.DROP if memory.state == AlertState.PENDING else Turn.RESOLVE
