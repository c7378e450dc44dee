"""How an answer differs from the one that was expected. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from answers.tensors import Array

FLOATS = {"FP16", "BF16", "FP32", "FP64"}
NO_NUMBERS = {"BYTES", "BOOL"}
MOST_AT = 10
Tensors = Mapping[str, tuple[str, Array]]  # name -> datatype and values


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A floating-point value may differ by ``absolute + relative * |expected|``."""

    relative: float = 1e-4
    absolute: float = 1e-6


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one output. ``count`` of its values are wrong; 0: it is not such a tensor at all."""

    output: str
    text: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class Distance:
    """How far one output of an answer is from what was expected.

    ``schema``: how it is another kind of tensor, a part of a sentence; nothing else is known then.
    ``wrong`` of ``values`` differ by more than the tolerance. ``largest``: of absolute differences
    between finite numbers; None where there are none. ``tolerances``: the largest one in what a
    value may differ by; infinite where a value is wrong that is no finite number. ``best`` of
    ``rows`` have the same best class; 0 rows: these are no scores of classes. ``at``: indices of
    wrong values, the farthest first, ``MOST_AT`` at most.
    """

    output: str
    schema: str = ""
    values: int = 0
    wrong: int = 0
    largest: float | None = None
    tolerances: float = 0.0
    rows: int = 0
    best: int = 0
    at: tuple[tuple[int, ...], ...] = ()

    @property
    def agrees(self) -> bool:
        return not self.schema and not self.wrong


def distances(expected: Tensors, got: Tensors, tolerance: Tolerance) -> list[Distance]:
    """Of every expected output, in their order; further outputs are no matter."""
    return [_distance(name, one, got.get(name), tolerance) for name, one in expected.items()]


def differences(
    expected: Tensors, got: Tensors, tolerance: Tolerance, *, by_class: bool = False
) -> list[Difference]:
    """Empty where every expected output is there and right; further outputs are no matter.

    ``by_class``: of scores of classes the best one of each row counts, whatever the scores are.

    NaN is right where NaN is expected. What is no floating-point number must be equal.
    """
    found = (
        _difference(one, expected[one.output], got.get(one.output), tolerance, by_class)
        for one in distances(expected, got, tolerance)
    )
    return [one for one in found if one is not None]


def _distance(
    name: str, wanted: tuple[str, Array], got: tuple[str, Array] | None, tolerance: Tolerance
) -> Distance:
    if got is None:
        return Distance(name, schema="was not answered")
    (datatype, expected), (given, answered) = wanted, got
    if given != datatype:
        return Distance(name, schema=f"is {given}, expected {datatype}")
    if answered.shape != expected.shape:
        return Distance(name, schema=f"has shape {_shape(answered)}, expected {_shape(expected)}")
    if datatype in FLOATS:
        return _of_floats(name, expected, answered, tolerance)
    wrong = answered != expected
    count = int(np.count_nonzero(wrong))
    apart = None
    if datatype not in NO_NUMBERS and wrong.size:
        apart = float(np.max(np.abs(answered.astype(np.float64) - expected.astype(np.float64))))
    return Distance(
        name,
        values=wrong.size,
        wrong=count,
        largest=apart,
        tolerances=np.inf if count else 0.0,
        at=_places(np.flatnonzero(wrong)[:MOST_AT], wrong.shape),
    )


def _of_floats(name: str, expected: Array, answered: Array, tolerance: Tolerance) -> Distance:
    answered, expected = answered.astype(np.float64), expected.astype(np.float64)
    relative, absolute = tolerance.relative, tolerance.absolute
    wrong = ~np.isclose(answered, expected, rtol=relative, atol=absolute, equal_nan=True)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities, and their differences
        apart = np.abs(answered - expected)
    finite = np.isfinite(apart)
    rows = best = 0
    if _are_scores(expected) and expected.size:
        same = np.atleast_1d(expected.argmax(axis=-1)) == np.atleast_1d(answered.argmax(axis=-1))
        rows, best = same.size, int(np.count_nonzero(same))
    places = np.flatnonzero(wrong)
    # what is no number is farthest; of those that are as far the first comes first
    far = np.where(finite, apart, np.inf).ravel()[places]
    if far.size > MOST_AT:
        chosen = np.sort(np.argpartition(-far, MOST_AT)[:MOST_AT])
        places, far = places[chosen], far[chosen]
    places = places[np.argsort(-far, kind="stable")]
    return Distance(
        name,
        values=wrong.size,
        wrong=int(np.count_nonzero(wrong)),
        largest=float(apart[finite].max()) if finite.any() else None,
        tolerances=_in_tolerances(apart, expected, finite, wrong, tolerance),
        rows=rows,
        best=best,
        at=_places(places, wrong.shape),
    )


def _in_tolerances(
    apart: Array, expected: Array, finite: Array, wrong: Array, tolerance: Tolerance
) -> float:
    if bool(np.any(wrong & ~finite)):
        return float(np.inf)
    allowed = tolerance.absolute + tolerance.relative * np.abs(expected[finite])
    steps = apart[finite]
    # where nothing is allowed any difference is as far as can be, and none is none
    of_it = np.divide(steps, allowed, out=np.where(steps > 0, np.inf, 0.0), where=allowed > 0)
    return float(of_it.max()) if of_it.size else 0.0


def _difference(
    one: Distance,
    wanted: tuple[str, Array],
    got: tuple[str, Array] | None,
    tolerance: Tolerance,
    by_class: bool,
) -> Difference | None:
    if one.schema or got is None:
        return Difference(one.output, one.schema)
    (datatype, expected), (_, answered) = wanted, got
    if by_class and datatype in FLOATS and _are_scores(expected):
        return _best_difference(one.output, expected, answered)
    if not one.wrong:
        return None
    where = one.at[0]
    if datatype in FLOATS:
        answered, expected = answered.astype(np.float64), expected.astype(np.float64)
    most = ", most of all" if one.wrong > 1 and datatype in FLOATS else ""
    return Difference(
        one.output,
        f"{one.wrong:,} of {one.values:,} values differ{most} {list(where)}: "
        f"{value_text(answered[where])}, expected {value_text(expected[where])}"
        + (_within(expected[where], tolerance) if datatype in FLOATS else ""),
        one.wrong,
    )


def _are_scores(array: Array) -> bool:
    return array.ndim in (1, 2) and array.shape[-1] > 1


def _best_difference(name: str, expected: Array, answered: Array) -> Difference | None:
    best, now = (np.atleast_1d(one.argmax(axis=-1)) for one in (expected, answered))
    rows = np.flatnonzero(best != now)
    if not rows.size:
        return None
    row = int(rows[0])
    which = f"{rows.size:,} of {best.size:,} best classes differ [{row}]"
    return Difference(name, f"{which}: {now[row]}, expected {best[row]}", int(rows.size))


def _places(flat: Array, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    if not shape:
        return ((),) * flat.size
    axes = np.unravel_index(flat, shape)
    return tuple(zip(*(axis.tolist() for axis in axes), strict=True))


def _within(expected: Any, tolerance: Tolerance) -> str:
    """What was let pass beside it."""
    if not np.isfinite(expected):
        return ""
    return f" ± {tolerance.absolute + tolerance.relative * abs(expected):.3g}"


def _shape(array: Array) -> list[int]:
    return list(array.shape)


def value_text(value: Any) -> str:
    """One value of a tensor, to be read; of texts the first 40 bytes."""
    if isinstance(value, bytes):
        return repr(value[:40].decode(errors="replace"))
    return f"{value:.7g}" if isinstance(value, np.floating) else str(value)
