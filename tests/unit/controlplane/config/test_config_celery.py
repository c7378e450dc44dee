"""Which queue a job goes to, and how long it may take."""

import re
from pathlib import Path

import pytest

from controlplane.config.celery import (
    INGEST_TASKS,
    app,
    jobs_on_one_connection,
    limits,
    tasks_import,
    wait_long,
)
from shoal.local.programs import POOLS

ROOT = Path(__file__).parents[4]
ENQUEUED = re.compile(r'enqueue_on_commit\(\s*"([a-z_.]+)",\s*queue="([a-z]+)"')


def test_jobs_of_seconds_are_ended_after_a_minute() -> None:
    tasks_import()
    for name, task in app.tasks.items():
        expected = (3600, 3540) if name in INGEST_TASKS else (60, 55)
        assert (task.time_limit, task.soft_time_limit) == expected, name


def test_a_message_under_work_is_not_sent_again() -> None:
    assert app.conf.broker_transport_options["visibility_timeout"] > 3600


@pytest.mark.parametrize(("seconds", "soft"), [(10, 5), (60, 55), (600, 590), (3600, 3540)])
def test_a_task_is_told_before_it_is_ended(seconds: int, soft: int) -> None:
    assert limits(seconds) == {"time_limit": seconds, "soft_time_limit": soft}


def test_what_moves_bytes_never_stands_before_what_heals() -> None:
    """Whoever sends a job: beat, or a service."""
    sent = {
        (entry["task"], entry["options"]["queue"])
        for entry in app.conf.beat_schedule.values()
        if entry["task"] != "system.pulse"  # one into each
    }
    for path in (ROOT / "controlplane").rglob("*.py"):
        sent |= set(ENQUEUED.findall(path.read_text()))
    assert ("deployments.reconcile", "control") in sent
    assert ("registry.ingest", "ingest") in sent
    assert {task for task, queue in sent if queue == "ingest"} == set(INGEST_TASKS)


def test_each_queue_has_a_worker_on_one_machine() -> None:
    assert set(POOLS) == {queue.name for queue in app.conf.task_queues}


@pytest.mark.parametrize(
    ("engines", "kept"),
    [
        (("django.db.backends.sqlite3", "django.db.backends.sqlite3"), True),
        (("django.db.backends.postgresql", "django.db.backends.sqlite3"), False),
        (("django.db.backends.postgresql", "django.db.backends.postgresql"), False),
    ],
)
def test_connections_to_files_alone_are_kept_between_jobs(
    engines: tuple[str, str], kept: bool
) -> None:
    databases = {name: {"ENGINE": engine} for name, engine in zip("ab", engines, strict=True)}
    assert (jobs_on_one_connection(databases) is not None) == kept
    assert "CELERY_DB_REUSE_MAX" in app.conf  # the name that Celery's part for Django reads


def test_a_worker_waits_for_jobs_no_longer_than_a_read_may_take() -> None:
    options = app.conf.broker_transport_options
    assert "polling_interval" not in options  # whoever waits without a loop would sleep as long
    try:
        wait_long()
        assert 1 < app.conf.broker_transport_options["polling_interval"] < options["socket_timeout"]
    finally:
        app.conf.broker_transport_options = options
