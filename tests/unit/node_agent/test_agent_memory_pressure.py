"""When a replica that runs out of GPU memory again and again has no way back by itself: tables."""

import pytest

from node_agent.memory_pressure import MemoryPressure, MemoryPressureRule
from wire.samples import ModelCounters

RULE = MemoryPressureRule(limit=3, window_s=300)
Sample = tuple[float, int, int]  # seconds, executions without memory, executions in all


def seen(pressure: MemoryPressure, samples: list[Sample], model: str = "m") -> list[bool]:
    return [
        pressure.observe((ModelCounters(model, "1", gpu_out_of_memory=bad, exec_count=ran),), at)
        is not None
        for at, bad, ran in samples
    ]


@pytest.mark.parametrize(
    ("samples", "under_pressure"),
    [
        ([(0, 0, 0), (2, 3, 3)], [False, True]),
        ([(0, 1, 1), (2, 2, 2), (4, 3, 3)], [False, False, True]),
        ([(0, 1, 1), (100, 2, 2), (301, 3, 3)], [False, False, False]),  # too far apart
        ([(0, 1, 1), (100, 2, 2), (300, 3, 3)], [False, False, True]),
        ([(0, 3, 3), (200, 3, 3), (301, 3, 3)], [True, True, False]),  # nothing for a while
        ([(0, 0, 0), (2, 3, 30)], [False, True]),  # a tenth of what it does
        ([(0, 0, 0), (2, 3, 31)], [False, False]),  # most have their answer: those were too large
        ([(0, 0, 1000), (2, 3, 1004)], [False, True]),  # what was before does not count for it
        ([(0, 3, 3), (2, 3, 100)], [True, False]),  # it works again
        ([(0, 3, 0)], [True]),  # counters are switched off: only failures are known
        ([(0, 2, 2), (2, 0, 0), (4, 2, 2)], [False, False, False]),  # loaded again in between
    ],
)
def test_failures_within_a_window_that_are_no_exceptions(
    samples: list[Sample], under_pressure: list[bool]
) -> None:
    assert seen(MemoryPressure(RULE, fresh=True), samples) == under_pressure


def test_what_happened_before_an_agent_looked_is_no_news() -> None:
    pressure = MemoryPressure(RULE, fresh=False)
    assert seen(pressure, [(0, 7, 7), (2, 9, 9), (4, 10, 10)]) == [False, False, True]


def test_it_can_be_switched_off() -> None:
    assert seen(MemoryPressure(MemoryPressureRule(limit=0), fresh=True), [(0, 99, 99)]) == [False]


def test_models_are_counted_apart_and_the_words_stay() -> None:
    pressure = MemoryPressure(RULE, fresh=True)
    assert not any(seen(pressure, [(0, 2, 2)], "a") + seen(pressure, [(0, 2, 2)], "b"))
    first = pressure.observe((ModelCounters("b", "1", gpu_out_of_memory=4, exec_count=5),), 1)
    assert first is not None
    assert first.code == "GpuOutOfMemory"
    assert first.message == (
        "Model 'b' ran out of GPU memory 4 times within 5 minutes while it served."
    )
    assert first.detail == "4 of 5 executions failed for it."
    assert any("instance type" in hint for hint in first.hints)
    more = pressure.observe((ModelCounters("b", "1", gpu_out_of_memory=6, exec_count=7),), 2)
    assert more == first
