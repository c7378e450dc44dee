"""Several beats at one broker: one of them sends the jobs, and another when it is gone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from pytest_django import Settings

from controlplane.config import beat
from shoal.local import redis_server
from tests.support.redis_process import RedisProcess, redis_process
from tests.support.runtime_process import wait_until


class Beat(beat.LedScheduler):
    """Notes what it would send. Its only job is due at each tick."""

    producer = None

    def __init__(self, place: Path) -> None:
        app = Celery("test", set_as_current=False)
        app.conf.beat_schedule = {"job": {"task": "job", "schedule": 0}}
        self.sent = 0
        super().__init__(app, schedule_filename=str(place))

    def send_task(self, *_args: Any, **_kwargs: Any) -> None:
        self.sent += 1

    def sends(self) -> bool:
        before = self.sent
        assert 0 <= self.tick() <= beat.LOOK_S
        return self.sent > before


@pytest.fixture
def broker(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Beats look at the lock at each tick, and one of them that dies is missed after a second."""
    monkeypatch.setattr(beat, "LOOK_S", 0.0)
    monkeypatch.setattr(beat, "LIFE_S", 1.0)
    (tmp_path / "redis").mkdir()
    with redis_process(tmp_path, redis_server.socket_path(tmp_path), 0) as found:
        settings.SHOAL_REDIS_URL = found.url
        yield found


@pytest.fixture
def start(broker: RedisProcess, tmp_path: Path) -> Iterator[Callable[[str], Beat]]:
    started = []

    def one(name: str) -> Beat:
        started.append(Beat(tmp_path / name))
        return started[-1]

    yield one
    for each in started:
        each.close()


def test_one_sends_and_the_next_when_it_ends(start: Callable[[str], Beat]) -> None:
    first, second = start("first"), start("second")
    assert [first.sends(), second.sends(), first.sends(), second.sends()] == [True, False] * 2
    first.close()
    assert second.sends()
    assert not start("first").sends()


def test_one_that_is_not_heard_of_any_more_is_followed(start: Callable[[str], Beat]) -> None:
    frozen, second = start("frozen"), start("second")
    assert frozen.sends()
    wait_until(second.sends, "the lock to end")
    assert not frozen.sends()


def test_who_starts_again_where_it_was_goes_on_at_once(start: Callable[[str], Beat]) -> None:
    killed, second = start("here"), start("second")
    assert killed.sends()
    again = start("here-again")
    again._place = killed._place
    assert [again.sends(), second.sends()] == [True, False]


def test_a_broker_that_forgot_all_has_one_leader_again(
    start: Callable[[str], Beat], broker: RedisProcess
) -> None:
    both = [start("first"), start("second")]
    assert [one.sends() for one in both] == [True, False]
    with redis.Redis.from_url(broker.url) as client:
        client.delete(beat.LOCK)
    assert sum([one.sends() for one in both]) == 1


def test_without_the_broker_nobody_leads_and_nobody_ends(
    start: Callable[[str], Beat], broker: RedisProcess, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", beat.__name__)
    only = start("only")
    assert only.sends()
    broker.process.kill()
    broker.process.wait(10)
    assert [only.sends(), only.sends()] == [False, False]
    told = [record.getMessage() for record in caplog.records if record.name == beat.__name__]
    assert [text.split(",")[0] for text in told] == [
        "beat: this one sends the jobs", "beat: no job can be sent",
    ]  # fmt: skip


def test_probes_see_that_it_looks_also_while_another_leads(
    start: Callable[[str], Beat], tmp_path: Path
) -> None:
    leads, waits = start("leads"), start("waits")
    assert [leads.sends(), waits.sends()] == [True, False]
    for name, one in (("leads", leads), ("waits", waits)):
        (tmp_path / f"{name}.alive").unlink()
        one.tick()
        assert (tmp_path / f"{name}.alive").exists()
