"""Pure: which configuration to measure next, and which of the measured ones to take.

The first is what runs today; some that lie far apart follow, then always the one that promises most
over the best: expected improvement. It ends where none promises enough, or by its budget.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from controlplane.tuning.space import Setting, Space

if TYPE_CHECKING:
    from controlplane.tuning.surrogate import Expected

LEAST_RUNS: Final = 6
MOST_RUNS: Final = 64
SHARE_OF_ALL: Final = 10  # of brute force's runs
WORTH: Final = 0.01  # less improvement is not worth a run
ALIKE: Final = 0.01  # so near to the best, the one that takes less is taken
FAILED_SHARE: Final = 0.5  # what failed is worth so much of the worst that did not


@dataclass(frozen=True, slots=True)
class Measured:
    """``value``: more is better, above 0; None: it could not be measured. ``within``: it holds the
    objective."""

    setting: Setting
    value: float | None
    within: bool = True
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Next:
    """``setting`` None: it is done."""

    setting: Setting | None
    reason: str


def usual_budget(space: Space) -> int:
    count = len(space.settings())
    return min(count, MOST_RUNS, max(LEAST_RUNS, math.ceil(count / SHARE_OF_ALL)))


def next_setting(measured: Sequence[Measured], space: Space, now: Setting, budget: int) -> Next:
    """``now``: what runs today; its measurement is the first."""
    if not measured:
        return Next(now, "what runs today")
    known = {one.setting for one in measured}
    left = [setting for setting in space.settings() if setting not in known]
    if not left:
        return Next(None, "every configuration has been measured")
    if len(measured) >= budget:
        return Next(None, f"{budget} runs were allowed")
    for setting in _first(space):
        if setting not in known and len(measured) < min(4, budget):
            return Next(setting, "far from those before: how the settings matter is not known yet")
    if not any(one.value for one in measured):
        return Next(left[len(left) // 2], "none of those before could be measured")
    expected = _expected(measured, space, [*(one.setting for one in measured), *left])
    best = max(
        mean
        for one, mean in zip(measured, expected.mean[: len(measured)], strict=True)
        if one.value
    )
    from controlplane.tuning.surrogate import improvement  # noqa: PLC0415 - without numpy

    rest = type(expected)(expected.mean[len(measured) :], expected.deviation[len(measured) :])
    gains = improvement(rest, float(best))
    chosen = int(gains.argmax())
    if gains[chosen] < WORTH and len(measured) >= LEAST_RUNS:
        return Next(None, "no other configuration promises 1 % more")
    change = math.expm1(float(rest.mean[chosen]) - float(best))
    doubt = math.expm1(float(rest.deviation[chosen]))
    return Next(left[chosen], f"promises most: {change:+.0%} ± {doubt:.0%} of the best so far")


def choice(measured: Sequence[Measured], space: Space) -> Measured | None:
    """Of those that hold the objective: the best, by what is expected of it in the light of all
    the others; of several that are nearly as good, the one that takes least. None: none holds it.
    """
    holding = [one for one in measured if one.within and one.value]
    if not holding:
        return None
    expected = _expected(measured, space, [one.setting for one in holding]).mean
    best = float(expected.max())
    near = [one for one, mean in zip(holding, expected, strict=True) if mean >= best - ALIKE]
    return min(near, key=lambda one: (one.setting.instances, one.memory_bytes, one.setting))


def frontier(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Of each (throughput, latency): whether none has more of the first and less of the second."""
    return [
        not any(
            other != point and other[0] >= point[0] and other[1] <= point[1] for other in points
        )
        for point in points
    ]


def _first(space: Space) -> tuple[Setting, ...]:
    """Where the corners are and what lies between: each tells of two settings."""
    few, many = space.instances[0], space.instances[-1]
    some, most = space.batches[len(space.batches) // 2], space.batches[-1]
    short, middle = space.delays_us[0], space.delays_us[len(space.delays_us) // 2]
    wanted = (
        (many, some, short),
        (few, most, short),
        (space.instances[len(space.instances) // 2], some, middle),
    )
    return tuple(
        Setting(instances, batch, delay if batch > 1 else 0) for instances, batch, delay in wanted
    )


def _expected(measured: Sequence[Measured], space: Space, wanted: Sequence[Setting]) -> "Expected":
    # why here: processes start without numpy, and few of them ever tune
    from controlplane.tuning.surrogate import expect  # noqa: PLC0415

    good = [one.value for one in measured if one.value]
    worst = min(good)
    logs = [math.log(one.value or worst * FAILED_SHARE) for one in measured]
    return expect(
        [space.position(one.setting) for one in measured],
        logs,
        [space.position(setting) for setting in wanted],
    )
