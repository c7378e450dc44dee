"""How processes end that outlive the agent: with all that they started."""

import asyncio
import dataclasses
import os
import signal
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from node_agent import process
from node_agent.process import ProcessIdentity

DEADLINE_S = 20
# A runtime whose child leaves its group and heeds nothing; and how the runtime itself ends.
CHILD = """
    import os, signal, sys, time
    if os.fork() == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open("child.new", "w") as told:
            told.write(str(os.getpid()))
        os.rename("child.new", "child")
        while True:
            signal.pause()
    {end}
"""
ON_REQUEST = "signal.pause()"
BY_ITSELF = """
    while not os.path.exists("child"):
        time.sleep(0.01)
"""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Path]:
    """The file with the child's process id; whatever a test found, the child is gone after it."""
    yield tmp_path / "child"
    if (tmp_path / "child").exists():
        try:
            os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
        except ProcessLookupError:
            return


def spawn(folder: Path, end: str) -> ProcessIdentity:
    code = textwrap.dedent(CHILD.format(end=end))
    return process.spawn(
        [sys.executable, "-I", "-S", "-c", code],
        folder=folder,
        log=folder / "runtime.log",
        environment={},
    )


async def child_of(left: Path) -> int:
    deadline = time.monotonic() + DEADLINE_S
    while not left.exists():
        assert time.monotonic() < deadline, "it was never started"
        await asyncio.sleep(0.01)
    return int(left.read_text())


def runs(pid: int) -> bool:
    try:
        return process.alive(process.identify(pid))
    except ProcessLookupError:
        return False


@pytest.mark.parametrize("grace_s", [5.0, 0.0])
async def test_what_a_runtime_started_ends_with_it(left: Path, grace_s: float) -> None:
    """It kept a GPU's memory, its ports and its user, which another replica may get."""
    runtime = spawn(left.parent, ON_REQUEST)
    child = await child_of(left)
    await process.end(runtime, grace_s=grace_s)
    assert not runs(child)
    assert not process.alive(runtime)


async def test_a_process_that_is_another_one_at_each_look_ends_too(left: Path) -> None:
    relay = """
    import os, signal, time
    if os.fork() == 0:
        os.setpgid(0, 0)
        os.close(os.open("child", os.O_CREAT))
        last = time.monotonic() + 60  # whatever becomes of the test
        while time.monotonic() < last and (not os.fork() or not os._exit(0)):
            os.utime("child")
    signal.pause()
    """
    runtime = process.spawn(
        [sys.executable, "-I", "-S", "-c", textwrap.dedent(relay)],
        folder=left.parent,
        log=left.parent / "runtime.log",
        environment={},
    )
    deadline = time.monotonic() + DEADLINE_S
    while not left.exists():
        assert time.monotonic() < deadline, "it was never started"
        await asyncio.sleep(0.01)
    await process.end(runtime, grace_s=0.0)
    last = left.stat().st_mtime_ns
    await asyncio.sleep(0.3)  # hundreds of them would have been here
    assert left.stat().st_mtime_ns == last
    left.unlink()


async def test_what_a_runtime_that_crashed_has_left_ends_before_it_is_started_again(
    left: Path,
) -> None:
    runtime = spawn(left.parent, BY_ITSELF)
    status = await process.exited(runtime)
    assert status == 0
    assert not runs(await child_of(left))


async def test_of_a_number_that_a_stranger_has_now_nothing_is_ended(left: Path) -> None:
    """The journal's process may be one of before this boot, or long gone."""
    stranger = spawn(left.parent, ON_REQUEST)
    child = await child_of(left)
    for gone in (
        dataclasses.replace(stranger, start_ticks=stranger.start_ticks - 1),
        dataclasses.replace(stranger, boot_id="another"),
    ):
        await process.end(gone, grace_s=0.0)
        assert process.alive(stranger)
        assert runs(child)
    await process.end(stranger, grace_s=0.0)
