"""When the cache is hashed as a whole: by a clock, and by what was remembered."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from node_agent.bandwidth import Throttle
from node_agent.cache import BlobCache, Checked
from node_agent.recheck import NEVER, Record, Schedule

DAY_S = 86_400


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Cache(BlobCache):
    """One whose hashing finds what is told."""

    def __init__(self, found: Checked) -> None:
        self.found = found

    async def recheck_all(self, throttle: Throttle) -> Checked:
        return self.found


def schedule(folder: Path, clock: Clock, interval_s: float = DAY_S) -> Schedule:
    return Schedule(folder / "node" / "recheck.json", interval_s=interval_s, clock=clock)


def test_the_first_is_due_an_interval_after_the_first_start(tmp_path: Path) -> None:
    clock = Clock()
    assert schedule(tmp_path, clock).due_in_s() == DAY_S
    clock.now += DAY_S - 60
    assert schedule(tmp_path, clock).due_in_s() == 60, "a restart does not put it off"
    clock.now += 3600
    assert schedule(tmp_path, clock).due_in_s() == 0


async def test_what_it_found_is_kept(tmp_path: Path) -> None:
    clock = Clock()
    first = schedule(tmp_path, clock)
    clock.now += DAY_S
    found = await first.run(Cache(Checked(files=3, size=70, spoiled=1)), throttle=Throttle(0))
    assert found == Record(clock.now, clock.now, files=3, size=70, spoiled=1)
    again = schedule(tmp_path, clock)
    assert (again.last, again.due_in_s()) == (found, DAY_S)


def test_no_interval_is_never(tmp_path: Path) -> None:
    assert schedule(tmp_path, Clock(), 0).due_in_s() == NEVER


def test_a_clock_that_was_set_back_puts_it_off_by_no_more_than_an_interval(tmp_path: Path) -> None:
    clock = Clock()
    found = schedule(tmp_path, clock)
    clock.now -= 10 * DAY_S
    assert found.due_in_s() == DAY_S
    clock.now += DAY_S
    assert found.due_in_s() == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"counted_from": 1, "more": 2}'])
def test_a_damaged_record_counts_from_now(tmp_path: Path, text: str) -> None:
    clock = Clock()
    schedule(tmp_path, clock)
    (tmp_path / "node" / "recheck.json").write_text(text)
    assert schedule(tmp_path, clock).due_in_s() == DAY_S
