"""Servers that go on by themselves: whatever happened at their start or to them, they end."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal.client.errors import ShoalError
from shoal.dev import background
from shoal.dev.background import Background
from tests.support.runtime_process import wait_until

ASLEEP = "import signal; print('it runs', flush=True); signal.pause()"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{ASLEEP}"
SURVIVED = (  # by a process that has its lock
    "import subprocess, sys\n"
    "sleep = [sys.executable, '-c', 'import signal; signal.pause()']\n"
    "print(subprocess.Popen(sleep, close_fds=False).pid, flush=True)\n"
    f"{ASLEEP}"
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(background, "_KILLED_S", 5.0)


def server(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> Background:
    command = [sys.executable, "-c", program]
    monkeypatch.setattr(background, "server_command", lambda *_: command)
    return Background(folder)


def printed(run: Background) -> bool:
    return run.log.exists() and "it runs" in run.log.read_text()


def test_one_whose_start_was_interrupted_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = subprocess.run

    def interrupted(*command: Any, **how: Any) -> None:
        begin(*command, **how)
        raise KeyboardInterrupt

    run = server(tmp_path, monkeypatch, ASLEEP)
    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.start((), {})
    assert run.is_alive()
    run.remove()
    assert not tmp_path.exists()


def test_one_that_does_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = server(tmp_path, monkeypatch, DEAF)
    run.start((), {})
    wait_until(lambda: printed(run), "its first line")
    run.stop()
    assert not run.is_alive()


def test_a_lock_that_outlives_the_server_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = server(tmp_path, monkeypatch, SURVIVED)
    run.start((), {})
    wait_until(lambda: printed(run), "its first line")
    monkeypatch.setattr(background, "_KILLED_S", 0.2)
    survivor = int(run.log.read_text().split()[0])
    try:
        with pytest.raises(ShoalError, match=r"does not end: something holds .*running\.lock"):
            run.stop()
    finally:
        os.kill(survivor, signal.SIGKILL)
    wait_until(lambda: not run.is_alive(), "the end of what held the lock")
    run.stop()
