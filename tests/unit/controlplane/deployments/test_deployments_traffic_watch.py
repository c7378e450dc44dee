"""Pure: how long a change of traffic is told of, who gains by it, and what takes it back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.deployments.traffic_watch import (
    KEPT,
    TOLD_BACK,
    WATCHED,
    gaining,
    moved,
    state_of,
    takes_back,
    way_back,
)

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TO_GREEN = {"header": "x-debug", "present": True, "deployment": "green"}
TO_BLUE = TO_GREEN | {"deployment": "blue"}


def shares(
    traffic: dict[str, int], mirror: dict[str, int] | None = None, *rules: dict[str, Any]
) -> dict[str, Any]:
    return {"traffic": traffic, "mirror_traffic": mirror or {}, "traffic_rules": list(rules)}


ALL_BLUE, TENTH, HALF = (shares({"blue": 100 - n, "green": n}) for n in (0, 10, 50))
COPIED = shares({"blue": 100}, {"green": 20})
RULED = shares({"blue": 100}, None, TO_GREEN)
NOBODY = shares({})


@pytest.mark.parametrize(
    ("routed_at", "undone_at", "now", "state"),
    [
        (None, None, T0, "routing"),
        (None, None, T0 + KEPT - SECOND, "routing"),
        (None, None, T0 + KEPT, None),
        (T0 + SECOND, None, T0 + SECOND, "watching"),
        (T0 + SECOND, None, T0 + WATCHED, "watching"),
        (T0 + SECOND, None, T0 + SECOND + WATCHED, "watched"),
        (T0 + SECOND, None, T0 + KEPT, None),
        (T0 + KEPT - SECOND, None, T0 + KEPT, None),
        (None, T0, T0, "undone"),
        (T0, T0 + KEPT, T0 + KEPT + TOLD_BACK - SECOND, "undone"),
        (T0, T0 + KEPT, T0 + KEPT + TOLD_BACK, None),
    ],
)
def test_a_change_is_watched_for_a_while_once_it_is_routed(
    routed_at: datetime | None, undone_at: datetime | None, now: datetime, state: str | None
) -> None:
    found = state_of(changed_at=T0, routed_at=routed_at, undone_at=undone_at, now=now)
    assert found == state


@pytest.mark.parametrize(
    ("before", "after", "is_moved", "gain"),
    [
        (ALL_BLUE, TENTH, True, ["green"]),
        (shares({"blue": 100}), ALL_BLUE, False, []),
        (TENTH, ALL_BLUE, True, ["blue"]),
        (NOBODY, HALF, True, ["blue", "green"]),
        (HALF, NOBODY, True, []),
        (shares({"blue": 100}), RULED, True, ["green"]),
        (RULED, shares({"blue": 100}, None, TO_BLUE), True, ["blue"]),
        (RULED, shares({"blue": 100}), True, []),
        (shares({"blue": 100}), COPIED, False, []),
    ],
)
def test_who_answers_more_than_before(
    before: dict[str, Any], after: dict[str, Any], is_moved: bool, gain: list[str]
) -> None:
    assert (moved(before, after), gaining(before, after)) == (is_moved, gain)


@pytest.mark.parametrize(
    ("before", "after", "new", "is_back"),
    [
        (ALL_BLUE, TENTH, ALL_BLUE, True),
        (ALL_BLUE, TENTH, shares({"blue": 100}), True),
        (ALL_BLUE, TENTH, HALF, False),
        (ALL_BLUE, TENTH, RULED, True),  # the shares are; rules are another matter
        (shares({"blue": 100}), RULED, ALL_BLUE, True),
        (shares({"blue": 100}), RULED, shares({"blue": 100}, None, TO_BLUE), False),
    ],
)
def test_taking_back_is_giving_what_was_before(
    before: dict[str, Any], after: dict[str, Any], new: dict[str, Any], is_back: bool
) -> None:
    assert takes_back(before, after, new) is is_back


@pytest.mark.parametrize(
    ("before", "after", "current", "deployments", "body"),
    [
        (ALL_BLUE, TENTH, TENTH, "blue green", {"traffic": {"blue": 100}}),
        (ALL_BLUE, TENTH, HALF, "blue green", None),  # somebody has changed it since
        (ALL_BLUE, TENTH, TENTH, "green", None),  # blue is gone
        (TENTH, ALL_BLUE, ALL_BLUE, "blue", None),
        (  # who had no share may be gone
            shares({"blue": 100, "red": 0}),
            TENTH,
            TENTH,
            "blue green",
            {"traffic": {"blue": 100}},
        ),
        (NOBODY, HALF, HALF, "blue green", {"traffic": {}}),
        (HALF, NOBODY, NOBODY, "blue green", {"traffic": {"blue": 50, "green": 50}}),
        # copies that ended with the change come again, unless others are sent now
        (
            COPIED,
            TENTH,
            TENTH,
            "blue green",
            {"traffic": {"blue": 100}, "mirror_traffic": {"green": 20}},
        ),
        (
            COPIED,
            TENTH,
            shares({"blue": 90, "green": 10}, {"red": 5}),
            "blue green red",
            {"traffic": {"blue": 100}},
        ),
        (
            shares({"blue": 100}, {"red": 20}),
            TENTH,
            TENTH,
            "blue green",
            {"traffic": {"blue": 100}},
        ),
        (shares({"blue": 100}), RULED, RULED, "blue green", {"traffic_rules": []}),
        (RULED, ALL_BLUE, ALL_BLUE, "blue green", {"traffic_rules": [TO_GREEN]}),
        (RULED, ALL_BLUE, ALL_BLUE, "blue", None),
    ],
)
def test_the_way_back_is_what_the_change_replaced(
    before: dict[str, Any],
    after: dict[str, Any],
    current: dict[str, Any],
    deployments: str,
    body: dict[str, Any] | None,
) -> None:
    assert way_back(before, after, current, deployments.split()) == body
