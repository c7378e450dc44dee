"""Where the time of one request went, as bars."""

from typing import Any

import pytest

from controlplane.deployments.waterfall import PHASES, Bar, bars_of

SEEN: dict[str, Any] = {"receive_us": 1000.0, "replica_us": 8000.0, "send_us": 1000.0}
NOTHING = dict.fromkeys(f"{phase}_us" for phase in PHASES)
SPAN: dict[str, Any] = {
    "model": "m", "parent": -1, "start_us": 0.0, "total_us": 6000.0, "accept_us": 100.0,
    "queue_us": 4500.0, "input_us": 100.0, "infer_us": 1000.0, "output_us": 100.0,
}  # fmt: skip
ENSEMBLE: list[dict[str, Any]] = [
    {**SPAN, **NOTHING},
    {**SPAN, "parent": 0, "total_us": 2000.0, "queue_us": 10.0},
    {**SPAN, "parent": 1, "start_us": 500.0, "total_us": 900.0, "queue_us": 10.0,
     "infer_us": 500.0},
    {**SPAN, "parent": 0, "start_us": 2000.0, "total_us": 3900.0, "queue_us": 2500.0},
]  # fmt: skip


def told(bars: list[Bar]) -> list[tuple[int, str, float, float]]:
    return [(bar.depth, bar.what, bar.start_us, bar.took_us) for bar in bars]


def test_a_request_of_one_model() -> None:
    bars = bars_of(SEEN, [SPAN])
    assert told(bars) == [
        (0, "receive", 0.0, 1000.0),
        (0, "inside", 1000.0, 8000.0),
        (1, "model", 2000.0, 6000.0),
        (2, "accept", 2000.0, 100.0),
        (2, "queue", 2100.0, 4500.0),
        (2, "input", 6600.0, 100.0),
        (2, "infer", 6700.0, 1000.0),
        (2, "output", 7700.0, 100.0),
        (2, "answer", 7800.0, 200.0),
        (0, "send", 9000.0, 1000.0),
    ]
    assert [bar.what for bar in bars if bar.slow] == ["queue"]
    assert [bar.what for bar in bars if not bar.leaf] == ["inside", "model"]


def test_steps_and_calls_stand_below_what_led_to_them() -> None:
    bars = bars_of(None, ENSEMBLE)
    models = [(bar.depth, bar.span) for bar in bars if bar.what == "model"]
    assert models == [(0, 0), (1, 1), (3, 2), (1, 3)]
    [slow] = [bar for bar in bars if bar.slow]
    assert (slow.what, slow.span, slow.start_us) == ("queue", 3, 2100.0)
    computing = [bar.leaf for bar in bars if bar.what == "infer"]
    assert computing == [False, True, True], "what its call takes is part of it"


@pytest.mark.parametrize(
    ("seen", "spans", "count"),
    [
        (None, [], 0),
        (SEEN, [], 3),
        ({**SEEN, "replica_us": None}, [], 0),
        ({**SEEN, "replica_us": None}, [SPAN], 7),
        (SEEN, [{**SPAN, **NOTHING}], 4),
    ],
)
def test_what_is_not_known_is_not_drawn(seen: Any, spans: Any, count: int) -> None:
    assert len(bars_of(seen, spans)) == count


def test_nothing_is_slow_where_all_took_about_as_long() -> None:
    even = {"receive_us": 100.0, "replica_us": 100.0, "send_us": 100.0}
    span = {**SPAN, "total_us": 90.0, **dict.fromkeys((f"{one}_us" for one in PHASES), 15.0)}
    assert [bar.what for bar in bars_of(even, [span]) if bar.slow] == ["receive"]
    assert not [
        bar for bar in bars_of({**even, "send_us": 0.0, "receive_us": 0.0}, [span]) if bar.slow
    ]


@pytest.mark.parametrize("parents", [[0, 0], [1, 0], [-1, 1, 2], [5, -7]])
def test_rings_of_parents_have_an_end(parents: list[int]) -> None:
    spans = [{**SPAN, "parent": parent} for parent in parents]
    assert bars_of(SEEN, spans)
