"""How an answer differs from the one that was expected. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from answers.tensors import Array

FLOATS = {"FP16", "BF16", "FP32", "FP64"}


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


def differences(
    expected: Mapping[str, tuple[str, Array]],
    got: Mapping[str, tuple[str, Array]],
    tolerance: Tolerance,
    *,
    by_class: bool = False,
) -> list[Difference]:
    """Empty where every expected output is there and right; further outputs are no matter.

    ``by_class``: of scores of classes the best one of each row counts, whatever the scores are.

    NaN is right where NaN is expected. What is no floating-point number must be equal.
    """
    found = (
        _difference(name, wanted, got.get(name), tolerance, by_class)
        for name, wanted in expected.items()
    )
    return [one for one in found if one is not None]


def _difference(
    name: str,
    wanted: tuple[str, Array],
    got: tuple[str, Array] | None,
    tolerance: Tolerance,
    by_class: bool,
) -> Difference | None:
    if got is None:
        return Difference(name, "was not answered")
    (datatype, expected), (given, answered) = wanted, got
    if given != datatype:
        return Difference(name, f"is {given}, expected {datatype}")
    if answered.shape != expected.shape:
        return Difference(name, f"has shape {_shape(answered)}, expected {_shape(expected)}")
    if by_class and datatype in FLOATS and _are_scores(expected):
        return _best_difference(name, expected, answered)
    if datatype not in FLOATS:
        wrong = answered != expected
    else:
        answered, expected = answered.astype(np.float64), expected.astype(np.float64)
        wrong = ~np.isclose(
            answered, expected, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True
        )
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    at = _worst(answered, expected, wrong) if datatype in FLOATS else np.argwhere(wrong)[0]
    where = tuple(int(axis) for axis in at)
    most = ", most of all" if count > 1 and datatype in FLOATS else ""
    return Difference(
        name,
        f"{count:,} of {wrong.size:,} values differ{most} {list(where)}: "
        f"{_value(answered[where])}, expected {_value(expected[where])}"
        + (_within(expected[where], tolerance) if datatype in FLOATS else ""),
        count,
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


def _worst(answered: Array, expected: Array, wrong: Array) -> Array:
    """Where a wrong value is farthest from the expected one; what is no number is farthest."""
    far = np.nan_to_num(np.abs(answered - expected), nan=np.inf, posinf=np.inf)
    index = np.argmax(np.where(wrong, far, -1.0))
    return np.array(np.unravel_index(index, wrong.shape))


def _within(expected: Any, tolerance: Tolerance) -> str:
    """What was let pass beside it."""
    if not np.isfinite(expected):
        return ""
    return f" ± {tolerance.absolute + tolerance.relative * abs(expected):.3g}"


def _shape(array: Array) -> list[int]:
    return list(array.shape)


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return repr(value[:40].decode(errors="replace"))
    return f"{value:.7g}" if isinstance(value, np.floating) else str(value)
