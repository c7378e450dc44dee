"""Real small processes under the supervisor: order, restarts, and nothing left behind."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shoal.local import ready, sweep
from shoal.local.child import Program, StartFailed
from shoal.local.supervisor import Backoff, Supervisor

ROOT = Path(__file__).parents[3]
DEADLINE_S = 20
# Says that it is ready, ends on SIGTERM, and holds a grandchild that ends on nothing but SIGKILL.
WORKER = """
import pathlib, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c",
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
print("I am ready", flush=True)
signal.pause()
"""


class Notes:
    """The reporter: keeps what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def ready(self, name: str, note: str, seconds: float) -> None:
        self.lines.append(f"ready {name}")

    def crashed(self, name: str, reason: str, delay_s: float) -> None:
        self.lines.append(f"crashed {name} {reason}")

    def restarted(self, name: str, seconds: float) -> None:
        self.lines.append(f"restarted {name}")

    def stopped(self, name: str) -> None:
        self.lines.append(f"stopped {name}")


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
async def supervisor(notes: Notes) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(notes)
    yield supervisor
    await supervisor.stop()


def program(folder: Path, name: str, *, code: str = WORKER, after: tuple[str, ...] = ()) -> Program:
    log = folder / f"{name}.log"
    return Program(
        name=name,
        argv=(sys.executable, "-c", code, str(folder / f"{name}.child")),
        environment=dict(os.environ),
        folder=folder,
        log=log,
        ready=ready.logs_line(log, "I am ready"),
        after=after,
        ready_timeout_s=DEADLINE_S,
    )


def exists(pid: int) -> bool:
    return sweep._start_ticks(pid) is not None


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


async def test_programs_start_after_what_they_need_and_stop_in_reverse(
    tmp_path: Path, supervisor: Supervisor, notes: Notes
) -> None:
    await supervisor.start(
        [
            program(tmp_path, "third", after=("second",)),
            program(tmp_path, "second", after=("first",)),
            program(tmp_path, "first"),
        ]
    )
    await supervisor.stop()
    assert notes.lines == [
        *("ready first", "ready second", "ready third"),
        *("stopped third", "stopped second", "stopped first"),
    ]


async def test_a_killed_program_is_started_again_and_this_is_said(
    tmp_path: Path, supervisor: Supervisor, notes: Notes
) -> None:
    await supervisor.start([program(tmp_path, "web")])
    grandchild = int((tmp_path / "web.child").read_text())
    first = supervisor.child("web").pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: "restarted web" in notes.lines, "the program did not come back")
    assert notes.lines[1] == "crashed web was killed by SIGKILL"
    assert supervisor.child("web").pid != first
    await until(lambda: not exists(grandchild), "what the dead program had forked lives on")


async def test_stopping_takes_the_grandchildren_too(tmp_path: Path, supervisor: Supervisor) -> None:
    await supervisor.start([program(tmp_path, "worker")])
    grandchild = int((tmp_path / "worker.child").read_text())
    await supervisor.stop()
    await until(lambda: not exists(grandchild), "a grandchild was left behind")


async def test_a_program_that_ends_at_its_start_is_an_error(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    broken = program(tmp_path, "web", code="raise SystemExit(7)")
    with pytest.raises(StartFailed, match="web exited with status 7 at start"):
        await supervisor.start([broken])


def test_a_killed_supervisor_takes_its_children_with_it(tmp_path: Path) -> None:
    script = f"""
import asyncio, sys
from pathlib import Path
sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
from test_local_supervisor import Notes, program
from shoal.local.supervisor import Supervisor

async def main():
    supervisor = Supervisor(Notes())
    await supervisor.start([program(Path({str(tmp_path)!r}), "web")])
    print(supervisor.child("web").pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        grandchild = int((tmp_path / "web.child").read_text())
        assert exists(child)
        process.kill()
    try:
        asyncio.run(until(lambda: not exists(child), "the child outlived its supervisor"))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(grandchild, signal.SIGKILL)


def test_the_sweep_kills_only_the_process_of_the_journal(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        ticks = sweep._start_ticks(process.pid)
        assert ticks is not None
        folder = tmp_path / "replicas" / "r1"
        folder.mkdir(parents=True)

        def journal(start_ticks: int) -> None:
            content = {"pid": process.pid, "start_ticks": start_ticks, "boot_id": sweep._boot_id()}
            (folder / "state.json").write_text(json.dumps(content))

        journal(ticks + 1)
        assert sweep.replicas(tmp_path) == 0
        assert process.poll() is None
        journal(ticks)
        assert sweep.replicas(tmp_path) == 1
        assert process.wait() == -signal.SIGKILL


def test_delays_grow_and_start_again() -> None:
    delays = Backoff()
    assert [delays.next() for _ in range(4)] == [0.1, 0.2, 0.4, 0.8]
    delays.reset()
    assert delays.next() == 0.1


async def test_what_can_be_drained_is_drained_before_anything_is_stopped(
    supervisor: Supervisor, notes: Notes, tmp_path: Path
) -> None:
    """Envoy's requests need replicas, which are stopped before it."""

    def note_drain() -> None:
        notes.lines.append("drained first")

    first = dataclasses.replace(program(tmp_path, "first"), drain=note_drain)
    await supervisor.start([first, program(tmp_path, "second", after=("first",))])
    await supervisor.stop()
    assert notes.lines[2:] == ["drained first", "stopped second", "stopped first"]
