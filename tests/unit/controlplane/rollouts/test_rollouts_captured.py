"""Captured requests that a rollout asks again: how many there may be, and what is missing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controlplane.core.errors import Invalid
from controlplane.rollouts import (
    ENOUGH,
    MOST_ASKED,
    MOST_REFUSED,
    Captured,
    Compared,
    Differing,
    Tally,
    Unusable,
    captured_asked,
    captured_met,
    captured_text,
    compared_from_json,
    compared_to_json,
    compared_with,
    plan_asked,
    plan_from_json,
    plan_to_json,
)
from controlplane.rollouts.agreement import MOST_DIFFERING
from controlplane.rollouts.captured import REASONS

SAME = ("",) * 4


def asked(answered: int, refused: int = 0) -> Captured:
    known = Captured()
    for number in range(answered + refused):
        known = captured_asked(known, f"f:{number}", refused=number >= answered)
    return known


@pytest.mark.parametrize(
    ("known", "left", "is_refused"),
    [
        (Captured(), MOST_ASKED, False),
        (asked(10), MOST_ASKED - 10, False),
        (asked(MOST_ASKED), 0, False),
        (asked(0, MOST_REFUSED - 1), MOST_ASKED - MOST_REFUSED + 1, False),
        (asked(0, MOST_REFUSED), MOST_ASKED - MOST_REFUSED, True),
        (asked(MOST_REFUSED, MOST_REFUSED), MOST_ASKED - 2 * MOST_REFUSED, False),
        (asked(MOST_REFUSED, MOST_REFUSED + 1), MOST_ASKED - 2 * MOST_REFUSED - 1, True),
    ],
)
def test_there_are_only_so_many_and_what_is_mostly_refused_ends(
    known: Captured, left: int, is_refused: bool
) -> None:
    assert (known.left, known.is_refused) == (left, is_refused)


@pytest.mark.parametrize(
    ("unusable", "why", "compared", "text"),
    [
        (None, "", ENOUGH, "200 captured requests were compared."),
        (
            None,
            "",
            12,
            "12 captured requests were compared: 188 are missing before 5 % of other answers are "
            "likely to be noticed.",
        ),
        (
            {Unusable.LEFT_OUT: 2, Unusable.HASHED: 40},
            "blue captures nothing.",
            ENOUGH,
            "200 captured requests were compared. Of those looked at last 42 cannot be asked "
            "again: 40 have hashed fields, 2 lack fields that are not captured. blue captures "
            "nothing.",
        ),
    ],
)
def test_what_is_missing_is_said(
    unusable: Mapping[str, int] | None, why: str, compared: int, text: str
) -> None:
    assert captured_text(captured_met(Captured(), unusable, why), compared) == text


def test_each_kind_has_its_words_and_the_last_look_counts() -> None:
    assert set(REASONS) == set(Unusable)
    known = captured_met(Captured(), {Unusable.HASHED: 4}, "")
    assert captured_met(known, None, "over").unusable == {Unusable.HASHED: 4}
    assert captured_met(known, {}, "").unusable == {}


def test_where_inputs_came_from_is_counted_and_the_newest_differences_are_kept() -> None:
    known = Compared()
    for number in range(MOST_DIFFERING + 3):
        one = Differing("captured", "net", float(number), "y" * 900, "f", number)
        known = compared_with(known, "y", SAME, 1.0, source="captured", differing=one)
    known = compared_with(known, "", SAME, 1.0, source="random")
    known = replace(known, captured=captured_met(asked(2), {Unusable.FAILED: 1}, "why"))
    assert known.sources == {"captured": Tally(13, 13), "random": Tally(0, 1)}
    assert [one.line for one in known.differing] == list(range(3, 13))
    assert len(known.differing[0].text) == 500
    assert compared_from_json(compared_to_json(known)) == known
    before = {
        key: value
        for key, value in compared_to_json(known).items()
        if key not in ("sources", "differing", "captured")
    }
    assert compared_from_json(before).captured == Captured(), "of before an upgrade"


def test_a_plan_says_where_inputs_come_from() -> None:
    plan = plan_asked(compare={"per_minute": 3, "sources": ["captured"], "captured_hours": 2})
    assert plan_from_json(plan_to_json(plan)) == plan
    whole = plan_to_json(plan_asked(compare={"per_minute": 3}))
    assert whole["compare"]["sources"] == ("cases", "random", "captured")
    del whole["compare"]["sources"], whole["compare"]["captured_hours"]
    before = plan_from_json(whole).compare
    assert before is not None
    assert before.sources == ("cases", "random"), "one that is under way asks nobody's requests"


@pytest.mark.parametrize(
    ("compare", "text"),
    [
        ({"sources": []}, "compare.sources: empty, expected some of cases, random, captured"),
        ({"sources": ["mirror"]}, "compare.sources: 'mirror', expected some of"),
        ({"captured_hours": 0}, "compare.captured_hours: 0, expected 1 to 168"),
    ],
)
def test_what_cannot_be_asked_is_refused(compare: dict[str, Any], text: str) -> None:
    with pytest.raises(Invalid, match=text):
        plan_asked(compare={"per_minute": 1, **compare})
