"""Roll-ups are kept with as many digits as charts show: small, and no figure moves that is seen."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.metrics import stored

NUMBERS = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False).filter(
    lambda number: number == 0 or abs(number) > 1e-9
)


@given(low=NUMBERS, high=NUMBERS)
def test_bounds_are_rounded_outward_and_by_little(low: float, high: float) -> None:
    found = stored.shortened({"low": {"p99_us": low}, "high": {"p99_us": high}})
    assert found["low"]["p99_us"] <= low + 1e-12 * abs(low)
    assert found["high"]["p99_us"] >= high - 1e-12 * abs(high)
    assert found["low"]["p99_us"] == pytest.approx(low, rel=1.1e-3)
    assert found["high"]["p99_us"] == pytest.approx(high, rel=1.1e-3)


@given(number=NUMBERS)
def test_sums_and_gauges_keep_seven_digits_and_counts_all(number: float) -> None:
    found = stored.shortened({"s": number, "sums": {"x": number}, "gauge": {"x": number}})
    for kept in (found["s"], found["sums"]["x"], found["gauge"]["x"]):
        assert kept == (number if number.is_integer() else pytest.approx(number, rel=1e-6))


@pytest.mark.parametrize(
    ("part", "number", "text"),
    [
        ("sums", 1808.0, "1808"),
        ("sums", 123456789012.0, "123456789012"),
        ("sums", 2172451.7196626775, "2172452.0"),
        ("sums", 0.016666666666666666, "0.01666667"),
        ("gauge", 45870421.333333336, "45870420.0"),
        ("low", 27.303374403717733, "27.3"),
        ("high", 27.303374403717733, "27.31"),
        ("low", 118851.10836120386, "118800"),
        ("high", 118851.10836120386, "118900"),
        ("high", 0.01904761904761905, "0.01905"),
        ("low", 0.0, "0"),
        ("high", 46043136.0, "46050000"),
        ("low", 536.0, "536"),
        ("low", 0.1, "0.1"),
        ("high", 0.1, "0.1"),
        # the smallest that a replica can say: one that could not be kept would end all roll-ups
        ("low", 2.2e-308, "2.2e-308"),
        ("high", 5e-324, "5e-324"),
        ("sums", 5e-324, "5e-324"),
    ],
)
def test_what_is_kept_of_a_number(part: str, number: float, text: str) -> None:
    assert json.dumps(stored.shortened({part: {"x": number}})[part]["x"]) == text


def test_what_is_no_number_stays() -> None:
    data: dict[str, Any] = {"gw": {"s": 60, "h": {"140": 3}, "classes": {}}, "nodes": ["n1"]}
    assert stored.shortened(data) == data
