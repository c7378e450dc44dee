"""Every job that services enqueue or the beat table names is registered by some app's tasks.py."""

import re
from pathlib import Path

from controlplane.config.celery import app, tasks_import

ROOT = Path(__file__).parents[2]
ENQUEUED = re.compile(r'enqueue_on_commit\(\s*"([a-z_.]+)"')


def test_every_enqueued_job_is_registered() -> None:
    tasks_import()
    names = {
        name
        for path in (ROOT / "controlplane").rglob("*.py")
        for name in ENQUEUED.findall(path.read_text())
    }
    assert names, "the pattern no longer finds any enqueue_on_commit call"
    assert names <= set(app.tasks), f"not registered: {sorted(names - set(app.tasks))}"


def test_every_beat_entry_is_registered() -> None:
    tasks_import()
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert scheduled <= set(app.tasks), f"not registered: {sorted(scheduled - set(app.tasks))}"
