"""Small histograms of a feature, of two times beside one another."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from controlplane.drift.sketch import Sketch, Value

BARS: Final = 16
OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Bar:
    """Shares of the values, 0 to 1; ``baseline`` None where there is none."""

    label: str
    baseline: float | None
    now: float


def bars(baseline: Sketch | None, now: Sketch | None) -> list[Bar]:
    """Of what both have together: equal steps for numbers, the commonest for texts."""
    known = [one for one in (baseline, now) if one is not None and one.sample]
    if not known:
        return []
    before = None if baseline is None else baseline.values
    after = [] if now is None else now.values
    if all(one.kind == "number" for one in known):
        return _steps(cast(Sequence[float] | None, before), cast(Sequence[float], after))
    return _categories(before, after)


def _steps(before: Sequence[float] | None, after: Sequence[float]) -> list[Bar]:
    together = [*(before or ()), *after]
    if len(distinct := sorted(set(together))) <= BARS:
        return _listed([f"{value:g}" for value in distinct], distinct, before, after)
    low, step = distinct[0], (distinct[-1] - distinct[0]) / BARS
    places = [
        None if one is None else [min(BARS - 1, int((value - low) / step)) for value in one]
        for one in (before, after)
    ]
    labels = [f"{low + at * step:.4g} to {low + (at + 1) * step:.4g}" for at in range(BARS)]
    return _listed(labels, range(BARS), places[0], places[1] or [])


def _categories(before: Sequence[Value] | None, after: Sequence[Value]) -> list[Bar]:
    texts = [[str(value) for value in one or ()] for one in (before, after)]
    named = [name for name, _ in Counter([*texts[0], *texts[1]]).most_common(BARS - 1)]
    told = set(named)
    short = [[name if name in told else OTHER for name in one] for one in texts]
    if OTHER in {*short[0], *short[1]}:
        named.append(OTHER)
    return _listed(named, named, None if before is None else short[0], short[1])


def _listed(
    labels: Sequence[str],
    values: Sequence[Value],
    before: Sequence[Value] | None,
    after: Sequence[Value],
) -> list[Bar]:
    was, is_now = Counter(before or ()), Counter(after)
    return [
        Bar(
            label,
            None if before is None else was[value] / max(1, len(before)),
            is_now[value] / max(1, len(after)),
        )
        for label, value in zip(labels, values, strict=True)
    ]
