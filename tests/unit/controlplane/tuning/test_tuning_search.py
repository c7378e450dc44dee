"""The search: its bar on made models, and what it does at the edges."""

import itertools
from collections.abc import Callable

import pytest

from controlplane.tuning.search import (
    Measured,
    choice,
    frontier,
    next_setting,
    usual_budget,
)
from controlplane.tuning.space import BadSpace, Setting, Space, space_check, usual_space
from tests.support.made_models import KINDS, MadeModel, noisy

SPACE = Space((1, 2, 4, 8), (1, 2, 4, 8, 16, 32, 64), (0, 100, 500, 2000, 5000))
NOW = (Setting(1, 1, 0), Setting(2, 4, 0), Setting(1, 64, 5000))


def searched(
    measure: Callable[[Setting], float | None], now: Setting, space: Space = SPACE, budget: int = 0
) -> list[Measured]:
    seen: list[Measured] = []
    while True:
        step = next_setting(seen, space, now, budget or usual_budget(space))
        assert step.reason
        if step.setting is None:
            return seen
        assert step.setting not in {one.setting for one in seen}
        seen.append(Measured(step.setting, measure(step.setting)))


@pytest.mark.parametrize("name", KINDS)
def test_it_comes_within_five_percent_of_brute_force_in_a_tenth_of_its_runs(name: str) -> None:
    """The bar, with the noise of a busy machine: of a dozen searches, from three beginnings."""
    model: MadeModel = KINDS[name]
    every = SPACE.settings()
    best = max(model.throughput(setting) for setting in every)
    for now, seed in itertools.product(NOW, range(4)):
        seen = searched(noisy(model, seed), now)
        assert len(seen) <= -(-len(every) // 10)  # 13 of 124
        chosen = choice(seen, SPACE)
        assert chosen is not None
        assert model.throughput(chosen.setting) >= 0.95 * best, (str(now), seed)


def test_what_runs_today_is_measured_first() -> None:
    seen = searched(KINDS["tiny"].throughput, Setting(3, 5, 77))
    assert seen[0].setting == Setting(3, 5, 77)  # though it is not in the space


def test_it_is_the_same_each_time() -> None:
    first, again = (searched(noisy(KINDS["tiny"], 1), NOW[0]) for _ in range(2))
    assert first == again


def test_it_ends_where_nothing_promises_more() -> None:
    seen = searched(lambda _: 100.0, NOW[0], budget=60)
    assert len(seen) < 20
    chosen = choice(seen, SPACE)
    assert chosen is not None and chosen.setting.instances == 1  # all alike: what takes least


def test_all_of_a_small_space_is_measured() -> None:
    small = Space((1, 2), (4,), (0,))
    assert {one.setting for one in searched(lambda _: 1.0, Setting(1, 4, 0), small)} == set(
        small.settings()
    )


def test_what_cannot_be_measured_is_kept_away_from() -> None:
    """Eight instances do not fit into memory."""
    model = KINDS["calls cost most"]

    def measure(setting: Setting) -> float | None:
        return None if setting.instances == 8 else model.throughput(setting)

    seen = searched(measure, NOW[0])
    assert sum(one.value is None for one in seen) <= 3
    chosen = choice(seen, SPACE)
    assert chosen is not None and chosen.value
    best = max(model.throughput(one) for one in SPACE.settings() if one.instances < 8)
    assert chosen.value >= 0.95 * best


def test_nothing_is_chosen_where_nothing_holds() -> None:
    at = Setting(1, 1, 0)
    assert choice([], SPACE) is None
    assert choice([Measured(at, None), Measured(at, 9.0, within=False)], SPACE) is None
    assert len(searched(lambda _: None, NOW[0], budget=5)) == 5


def test_the_frontier() -> None:
    assert frontier([(100, 5), (200, 9), (150, 9), (90, 5), (100, 5)]) == [
        True, True, False, False, True,
    ]  # fmt: skip
    assert frontier([]) == []


def test_what_is_not_batched_does_not_wait() -> None:
    assert len(SPACE.settings()) == 4 * (1 + 6 * 5)
    assert Space((1, 2), (0,), (0, 5)).settings() == [Setting(1, 0, 0), Setting(2, 0, 0)]
    assert SPACE.position(Setting(1, 1, 5000)) == SPACE.position(Setting(1, 1, 0)) == (0, 0, 0)
    assert SPACE.position(Setting(3, 64, 300))[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("processors", "batch", "expected"),
    [
        (1, 0, Space((1, 2), (0,), (0,))),
        (6, 8, Space((1, 2, 4, 6), (8, 16, 32, 64), (0, 100, 500, 2000, 5000))),
        (64, 100, Space((1, 2, 4, 8), (100,), (0, 100, 500, 2000, 5000))),
    ],
)
def test_the_usual_space(processors: int, batch: int, expected: Space) -> None:
    assert usual_space(processors=processors, batch=batch) == expected
    space_check(expected, batch=batch)


@pytest.mark.parametrize(
    ("space", "batch", "field"),
    [
        (Space((0, 1), (1,), (0,)), 1, "instances"),
        (Space((2, 1), (1,), (0,)), 1, "instances"),
        (Space((1, 1), (1,), (0,)), 1, "instances"),
        (Space(tuple(range(1, 18)), (1,), (0,)), 1, "instances"),
        (Space((1, 65), (1,), (0,)), 1, "instances"),
        (Space((1,), (1,), (0, 5)), 1, "instances"),  # one configuration
        (Space((1,), (4, 8), (0,)), 0, "batch_sizes"),
        (Space((1,), (0, 8), (0,)), 4, "batch_sizes"),
        (Space((1,), (2, 8), (-1,)), 4, "delays_us"),
        (Space((1,), (2, 8), ()), 4, "delays_us"),
        (Space((1,), (2, 8), (2_000_000,)), 4, "delays_us"),
    ],
)
def test_a_space_without_sense_is_refused(space: Space, batch: int, field: str) -> None:
    with pytest.raises(BadSpace) as refused:
        space_check(space, batch=batch)
    assert refused.value.field == field and ", expected " in str(refused.value)
