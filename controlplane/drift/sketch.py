"""What is kept of one feature: exact counts and bounds, and a uniform sample of its values.

The sample is the values with the smallest of random numbers, one drawn for each: of two sketches
together it is again those with the smallest, so that merging loses nothing and needs no order.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import merge, nsmallest
from itertools import islice
from random import Random
from typing import Any, Final, Literal

SAMPLE: Final = 512
MOST_SHAPES: Final = 8
TEXT_CHARS: Final = 64  # of a text that is kept
DIGITS: Final = 7  # of a number in the sample: what FP32 has
DRAW_BITS: Final = 32
LARGEST: Final = 1e300  # of a number, and of a sum: what is beyond counts as this

Value = float | str
Kind = Literal["number", "text"]


@dataclass(frozen=True, slots=True)
class Sketch:
    """``rows``: requests, or rows of them, that it is about; ``count`` values were there, of which
    ``missing`` were null. ``low``, ``high`` and ``total`` are of numbers. ``shapes`` are those of
    the tensors, as text, with how often they came. ``sample`` has pairs of draw and value, sorted.
    """

    kind: Kind
    rows: int
    count: int
    missing: int
    low: float | None = None
    high: float | None = None
    total: float = 0.0
    shapes: Mapping[str, int] | None = None
    sample: tuple[tuple[int, Value], ...] = ()

    @property
    def values(self) -> list[Value]:
        return [value for _, value in self.sample]

    @property
    def missing_share(self) -> float:
        return self.missing / self.count if self.count else 0.0

    @property
    def mean(self) -> float | None:
        present = self.count - self.missing
        return self.total / present if self.kind == "number" and present else None

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "rows": self.rows,
            "count": self.count,
            "missing": self.missing,
            "low": self.low,
            "high": self.high,
            "total": self.total,
            "shapes": dict(self.shapes or {}),
            "draws": [draw for draw, _ in self.sample],
            "values": self.values,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Sketch":
        names = ("kind", "rows", "count", "missing", "low", "high", "total", "shapes")
        sample = tuple(zip(kept["draws"], kept["values"], strict=True))
        return cls(**{name: kept[name] for name in names}, sample=sample)


def sketch_of(
    kind: Kind,
    values: Sequence[Value | None],
    *,
    rows: int,
    shapes: Mapping[str, int],
    rng: Random,
) -> Sketch:
    """None is a value that is missing; numbers are finite, ``LARGEST`` at most."""
    draws = [(rng.getrandbits(DRAW_BITS), value) for value in values if value is not None]
    missing = len(values) - len(draws)
    if kind == "text":
        texts = [(draw, str(value)[:TEXT_CHARS]) for draw, value in draws]
        return Sketch(
            kind,
            rows,
            len(values),
            missing,
            shapes=_commonest(shapes),
            sample=tuple(nsmallest(SAMPLE, texts)),
        )
    numbers = [(draw, float(value)) for draw, value in draws]
    present = [number for _, number in numbers]
    return Sketch(
        kind,
        rows,
        len(values),
        missing,
        low=min(present, default=None),
        high=max(present, default=None),
        total=max(-LARGEST, min(LARGEST, sum(present))),
        shapes=_commonest(shapes),
        sample=tuple(
            (draw, float(f"{number:.{DIGITS}g}")) for draw, number in nsmallest(SAMPLE, numbers)
        ),
    )


def merged(sketches: Sequence[Sketch]) -> Sketch:
    """All of them, one at least, in the order of time; of two kinds those of the last one's alone:
    a new version may have another type."""
    alike = [one for one in sketches if one.kind == sketches[-1].kind]
    if len(alike) == 1:
        return alike[0]
    shapes: Counter[str] = Counter()
    for one in alike:
        shapes.update(one.shapes or {})
    return Sketch(
        alike[0].kind,
        sum(one.rows for one in alike),
        sum(one.count for one in alike),
        sum(one.missing for one in alike),
        low=min((one.low for one in alike if one.low is not None), default=None),
        high=max((one.high for one in alike if one.high is not None), default=None),
        total=max(-LARGEST, min(LARGEST, sum(one.total for one in alike))),
        shapes=_commonest(shapes),
        # why merge: each is sorted, and few of all of them are looked at
        sample=tuple(islice(merge(*(one.sample for one in alike)), SAMPLE)),
    )


def _commonest(shapes: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(shapes).most_common(MOST_SHAPES))
