"""Drift as tables: known shifts get their verdicts, chance does not, and scipy is the oracle."""

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from controlplane.drift import Comparison, Sketch, Verdict, bars, compared, ks_test, merged, psi
from controlplane.drift import sketch_of as _sketch_of
from controlplane.drift.sketch import SAMPLE

RNG = np.random.default_rng


def sketch_of(values: Any, kind: Any = "number", seed: int = 1) -> Sketch:
    values = list(values)
    return _sketch_of(kind, values, rows=len(values), shapes={"1": len(values)}, rng=Random(seed))


def normal(count: int, mean: float = 0.0, spread: float = 1.0, seed: int = 1) -> Sketch:
    return sketch_of(RNG(seed).normal(mean, spread, count), seed=seed + 1000)


@pytest.mark.parametrize("sizes", [(40, 40), (100, 300), (512, 512)])
@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_test_is_that_of_scipy(sizes: tuple[int, int], shift: float, seed: int) -> None:
    rng = RNG(seed)
    one, other = rng.normal(0, 1, sizes[0]), rng.normal(shift, 1, sizes[1])
    other = np.round(other, 1)  # with values that are alike
    statistic, p_value = ks_test(one.tolist(), other.tolist())
    oracle = stats.ks_2samp(one, other, method="asymp")
    assert statistic == pytest.approx(oracle.statistic, abs=1e-12)
    assert p_value == pytest.approx(oracle.pvalue, abs=0.02)


def test_the_index_is_what_its_formula_says() -> None:
    before = sketch_of(["a"] * 50 + ["b"] * 50, "text")
    after = sketch_of(["a"] * 80 + ["b"] * 20, "text")
    expected = (0.8 - 0.5) * math.log(0.8 / 0.5) + (0.2 - 0.5) * math.log(0.2 / 0.5)
    assert psi(before, after) == pytest.approx(expected)
    assert psi(before, before) == 0.0


def test_an_empty_bin_counts_as_half_a_value() -> None:
    before = sketch_of(["a"] * 100, "text")
    after = sketch_of(["b"] * 100, "text")
    expected = 2 * (1 - 0.005) * math.log(1 / 0.005)
    assert psi(before, after) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (normal(2000), normal(2000, seed=2), Verdict.STABLE),
        (normal(2000), normal(2000, 0.45, seed=2), Verdict.MODERATE),
        (normal(2000), normal(2000, 1.0, seed=2), Verdict.DRIFT),
        (normal(2000), normal(2000, 0.0, 3.0, seed=2), Verdict.DRIFT),
        (sketch_of([0.0, 1.0] * 500), sketch_of([1.0] * 1000), Verdict.DRIFT),
        (sketch_of([3.0] * 1000), sketch_of([3.0] * 1000), Verdict.STABLE),
        (sketch_of([290 + at / 1000 for at in range(1000)]),
         sketch_of([291 + at / 1000 for at in range(1000)]), Verdict.DRIFT),
        (sketch_of(["a", "b"] * 400, "text"), sketch_of(["a", "b"] * 300, "text"), Verdict.STABLE),
        (sketch_of(["a", "b"] * 400, "text"), sketch_of(["c"] * 400, "text"), Verdict.DRIFT),
        (sketch_of([1.0] * 400), sketch_of(["c"] * 400, "text"), Verdict.DRIFT),
        (sketch_of([1.0, None] * 400), sketch_of([1.0, 1.0] * 400), Verdict.DRIFT),
        (sketch_of([1.0] * 400), sketch_of([None] * 400), Verdict.DRIFT),
    ],
    ids=["same", "half", "one", "wider", "binary", "constant", "offset", "categories", "new",
         "kind", "missing-less", "missing-all"],
)  # fmt: skip
def test_known_shifts_have_their_verdict(before: Sketch, after: Sketch, verdict: Verdict) -> None:
    assert compared(before, after).verdict is verdict


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (normal(120), normal(2000), "the baseline has 120 of 300 rows"),
        (normal(2000), normal(299), "the window has 299 of 300 rows"),
        (normal(2000), None, "the window has 0 of 300 rows"),
    ],
)
def test_with_too_little_data_it_says_so_and_nothing_else(
    before: Sketch, after: Sketch | None, told: str
) -> None:
    assert compared(before, after) == Comparison(Verdict.TOO_LITTLE_DATA, told=told)


def test_without_a_baseline_there_is_no_verdict() -> None:
    assert compared(None, normal(2000)).verdict is Verdict.NO_BASELINE


def test_chance_alone_is_no_drift() -> None:
    """A thousand comparisons of the same distribution, in the least numbers that are compared."""
    found = [
        compared(normal(300, seed=2 * at), normal(300, seed=2 * at + 1), features=50).verdict
        for at in range(1000)
    ]
    assert found.count(Verdict.DRIFT) == 0
    assert found.count(Verdict.MODERATE) <= 2


def test_the_sample_is_uniform_and_merges_in_any_order() -> None:
    parts = [sketch_of(np.arange(at * 1000, at * 1000 + 1000), seed=at) for at in range(10)]
    forth, back = merged(parts), parts[-1]
    for part in reversed(parts[:-1]):  # one by one, and from the end
        back = merged([back, part])
    assert forth == back
    assert (forth.rows, forth.low, forth.high, forth.mean) == (10_000, 0, 9_999, 4_999.5)
    assert len(forth.sample) == SAMPLE
    # of a uniform sample each tenth has about a tenth
    counts = np.histogram([float(value) for value in forth.values], 10, (0, 10_000))[0]
    assert stats.chisquare(counts).pvalue > 1e-4


def test_of_two_kinds_the_last_one_counts() -> None:
    numbers, texts = sketch_of([1.0, 2.0]), sketch_of(["a"], "text")
    assert merged([numbers, texts]) == texts
    assert merged([numbers, texts, numbers]).rows == 4


def test_a_sketch_is_kept_as_json() -> None:
    for sketch in (normal(700), sketch_of(["x" * 500, None], "text"), sketch_of([None, None])):
        assert Sketch.from_json(sketch.to_json()) == sketch


def test_bars_are_shares_of_both() -> None:
    found = bars(sketch_of([0.0, 1.0] * 50), sketch_of([1.0] * 30 + [2.0] * 10))
    assert [(bar.label, bar.baseline, bar.now) for bar in found] == [
        ("0", 0.5, 0.0), ("1", 0.5, 0.75), ("2", 0.0, 0.25),
    ]  # fmt: skip
    wide = bars(None, normal(1000))
    assert len(wide) == 16
    assert sum(bar.now for bar in wide) == pytest.approx(1.0)
    assert {bar.baseline for bar in wide} == {None}
    many = bars(sketch_of([f"c{at}" for at in range(100)], "text"), None)
    assert many[-1].label == "other"
    assert bars(None, None) == []
