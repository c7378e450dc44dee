"""The rate limiter, without a clock: who may run next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.core.scheduling.rate_limit import EVERYWHERE, Member, RateLimiter
from worker_runtime.errors import InvalidArgument
from worker_runtime.types.instances import InstancePlace, ResourceNeed


def place(
    name: str, *needs: ResourceNeed, device: int | None = None, priority: int = 1
) -> InstancePlace:
    return InstancePlace(name, device, priority=priority, needs=needs)


def ran(running: list[str]) -> list[str]:
    names, running[:] = list(running), []
    return names


def test_without_needs_everybody_runs_at_once() -> None:
    started: list[str] = []
    limiter = RateLimiter()
    members = limiter.join([place("a"), place("b")], lambda m: started.append(m.place.name))
    for member in members:
        limiter.stage(member)
    assert started == ["a", "b"]


def test_units_are_shared_and_the_default_is_what_the_greediest_needs() -> None:
    started: list[str] = []
    limiter = RateLimiter()
    one, two = limiter.join(
        [place("a", ResourceNeed("r", 4)), place("b", ResourceNeed("r", 2))],
        lambda m: started.append(m.place.name),
    )
    limiter.stage(one)
    limiter.stage(two)
    assert ran(started) == ["a"]
    limiter.release(one)
    assert ran(started) == ["b"]


def test_more_units_let_both_run() -> None:
    started: list[str] = []
    limiter = RateLimiter({("r", EVERYWHERE): 6})
    for member in limiter.join(
        [place("a", ResourceNeed("r", 4)), place("b", ResourceNeed("r", 2))],
        lambda m: started.append(m.place.name),
    ):
        limiter.stage(member)
    assert started == ["a", "b"]


def test_device_resources_count_per_device_and_global_ones_once() -> None:
    started: list[str] = []
    limiter = RateLimiter()
    for member in limiter.join(
        [
            place("a", ResourceNeed("r", 1), device=0),
            place("b", ResourceNeed("r", 1), device=1),
            place("c", ResourceNeed("g", 1, shared=True), device=0),
            place("d", ResourceNeed("g", 1, shared=True), device=1),
        ],
        lambda m: started.append(m.place.name),
    ):
        limiter.stage(member)
    assert started == ["a", "b", "c"]


def test_priority_weighs_the_turns() -> None:
    started: list[str] = []
    limiter = RateLimiter()
    members = {
        member.place.name: member
        for member in limiter.join(
            [place("a", ResourceNeed("r", 1)), place("b", ResourceNeed("r", 1), priority=2)],
            lambda m: started.append(m.place.name),
        )
    }
    limiter.stage(members["a"])
    limiter.stage(members["b"])
    for _ in range(11):
        running = members[started[-1]]
        limiter.stage(running)
        limiter.release(running)
    assert started.count("a") == 8
    assert started.count("b") == 4


def test_nobody_overtakes_the_one_that_waits_for_units() -> None:
    started: list[str] = []
    limiter = RateLimiter({("r", EVERYWHERE): 4})
    big, small, other = limiter.join(
        [
            place("big", ResourceNeed("r", 4)),
            place("small", ResourceNeed("r", 1)),
            place("x", ResourceNeed("r", 1)),
        ],
        lambda m: started.append(m.place.name),
    )
    limiter.stage(small)
    limiter.stage(big)
    limiter.stage(other)
    assert ran(started) == ["small"]
    limiter.release(small)
    assert ran(started) == ["big"]
    limiter.release(big)
    assert ran(started) == ["x"]


@pytest.mark.parametrize(
    ("limits", "needs", "text"),
    [
        (
            {("r", EVERYWHERE): 3},
            [ResourceNeed("r", 4)],
            'Resource count for "r" is limited to 3 which will prevent scheduling of one or more '
            "model instances, the minimum required count is 4",
        ),
        (
            {("r", 10): 10},
            [ResourceNeed("r", 4)],
            'Resource count for "r" is limited to 0 which will prevent scheduling of one or more '
            "model instances, the minimum required count is 4",
        ),
        (
            {},
            [ResourceNeed("r", 1), ResourceNeed("r", 1, shared=True)],
            'Resource "r" is present as both global and device-specific resource in the model '
            "configuration.",
        ),
    ],
)
def test_what_could_never_run_is_refused(
    limits: dict[tuple[str, int], int], needs: list[ResourceNeed], text: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        RateLimiter(limits).check([place("a", *needs)])
    assert str(caught.value) == text


@given(
    needs=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=60),
)
def test_units_are_never_overdrawn_and_nobody_is_forgotten(
    needs: list[int], steps: list[tuple[bool, int]]
) -> None:
    running: list[Member] = []
    limiter = RateLimiter({("r", EVERYWHERE): 5})
    members = limiter.join(
        [place(f"{i}", ResourceNeed("r", n)) for i, n in enumerate(needs)], running.append
    )
    wanted = 0
    granted = 0
    for start, which in steps:
        before = len(running)
        if start:
            member = members[which % len(members)]
            if member.staged or member in running:
                continue
            wanted += 1
            limiter.stage(member)
        elif running:
            done = running.pop(which % len(running))
            before -= 1
            limiter.release(done)
        granted += len(running) - before
        assert sum(m.place.needs[0].count for m in running) <= 5
    while running:
        before = len(running) - 1
        limiter.release(running.pop())
        granted += len(running) - before
    assert granted == wanted
