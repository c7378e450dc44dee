"""A cap on bytes per second: by a clock of its own, shared fairly, and spelled in units."""

import asyncio

import pytest

from node_agent.bandwidth import Throttle, TokenBucket, parse_rate

MIB = 1 << 20


class Clock:
    """Time passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_bytes_of_one_second_come_at_once_then_they_are_paced() -> None:
    bucket = TokenBucket(1000, now=5.0)
    assert bucket.take(1000, 5.0) == 0.0
    assert bucket.take(500, 5.0) == pytest.approx(0.5)
    assert bucket.take(500, 5.5) == pytest.approx(0.5)


def test_an_idle_hour_saves_no_more_than_a_second() -> None:
    bucket = TokenBucket(1000, now=0.0)
    bucket.take(1000, 0.0)
    assert bucket.take(2000, 3600.0) == pytest.approx(1.0)


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = TokenBucket(1000, now=10.0)
    bucket.take(1000, 10.0)
    assert bucket.take(1000, 4.0) == pytest.approx(1.0)
    assert bucket.take(0, 10.5) == pytest.approx(0.5)


@pytest.mark.parametrize("rate", [64 * 1024, MIB, 50 * MIB])
@pytest.mark.parametrize("chunk", [1, 4096, MIB])
def test_over_any_while_no_more_than_the_rate_passes(rate: int, chunk: int) -> None:
    clock = Clock()
    bucket = TokenBucket(rate, now=clock.now)
    moved = 0
    for _ in range(500):
        moved += chunk
        clock.now += bucket.take(chunk, clock.now)
    allowed = rate * (clock.now - 100.0) + rate  # and one second's burst
    assert moved <= allowed + 1e-3
    if clock.now > 101.0:
        assert moved >= 0.99 * (allowed - rate)


def test_those_who_share_it_wait_in_turn() -> None:
    bucket = TokenBucket(1000, now=0.0)
    bucket.take(1000, 0.0)
    waits = [bucket.take(500, 0.0) for _ in range(4)]
    assert waits == pytest.approx([0.5, 1.0, 1.5, 2.0])


async def test_no_rate_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slept(_: float) -> None:
        pytest.fail("waited")

    monkeypatch.setattr(asyncio, "sleep", slept)
    await Throttle(0).pace(1 << 40)


async def test_a_mover_pauses_for_what_it_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pauses = Clock(), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock.now += seconds

    monkeypatch.setattr(asyncio, "sleep", sleep)
    throttle = Throttle(MIB, clock=clock)
    for _ in range(5):
        await throttle.pace(MIB)
    assert pauses == pytest.approx([1.0] * 4)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("0", 0),
        ("65536", 65536),
        ("64KiB", 65536),
        ("50MiB", 50 * MIB),
        ("50 MiB/s", 50 * MIB),
        ("50mib", 50 * MIB),
        ("400kB", 400_000),
        ("1.5GB", 1_500_000_000),
        ("0MB", 0),
    ],
)
def test_rates_have_units(text: str, rate: int) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "fast", "-1", "50Mbit", "5 0MB", "1e6", "10TiB", "63KiB", "1B/s", "MiB"]
)
def test_what_is_no_rate_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected bytes per second, such as 50MiB.*64KiB"):
        parse_rate(text)
