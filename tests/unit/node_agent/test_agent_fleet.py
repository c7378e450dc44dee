"""What the node runs is led to what is desired; what an earlier agent left is taken over."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node_agent.cache import BlobCache
from node_agent.client import BlobStream
from node_agent.fleet import Fleet
from node_agent.host import Host
from node_agent.journal import Entry, ReplicaFolder
from node_agent.sandbox import Sandbox
from node_agent.scratch import Scratch
from wire.messages import DesiredReplica, DesiredState

FAKE = Path(__file__).parents[2] / "support" / "fake_runtime.py"
DEADLINE_S = 20


class NoBlobs:
    def blob(self, sha256: str, offset: int) -> contextlib.AbstractAsyncContextManager[BlobStream]:
        raise AssertionError(f"{sha256} at {offset}: nothing is to be fetched")


def replica(generation: int, text: str, code: tuple[str, ...] | None = None) -> DesiredReplica:
    return DesiredReplica(
        replica_id="r1", generation=generation, endpoint="digits", deployment="blue", files=(),
        inline_files={"digits/config.pbtxt": text}, models=("digits",), code=code,
    )  # fmt: skip


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    host = Host(
        cache=BlobCache(tmp_path / "cache", NoBlobs()),
        address="127.0.0.1",
        bind="127.0.0.1",
        sandbox=Sandbox(inherited=dict(os.environ)),
        changed=lambda: None,
        runtime=(sys.executable, str(FAKE)),
    )
    fleet = Fleet(tmp_path / "replicas", host)
    yield fleet
    await fleet.stop(longest_s=0.5)


async def ready(fleet: Fleet, wanted: DesiredReplica) -> None:
    fleet.apply(DesiredState("n1", wanted.generation, (wanted,), drain_timeout_s=0.5))
    deadline = time.monotonic() + DEADLINE_S
    while [(seen.state, seen.generation) for seen in fleet.observed()] != [
        ("ready", wanted.generation)
    ]:
        assert time.monotonic() < deadline, fleet.observed()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("after", "stays"),
    [
        (replica(2, "one"), True),
        (replica(2, "two"), False),
        (replica(2, "one", code=()), False),
    ],
)
async def test_other_code_finds_nothing_in_its_home_of_that_before(
    fleet: Fleet, tmp_path: Path, after: DesiredReplica, stays: bool
) -> None:
    """Python, pip and compilers run what they find there, whatever the new one is allowed."""
    await ready(fleet, replica(1, "one"))
    home = Scratch(tmp_path / "replicas" / "r1" / "scratch").home
    planted = home / ".local/lib/python3.11/site-packages/usercustomize.py"
    planted.parent.mkdir(parents=True)
    planted.write_text("1")
    await ready(fleet, after)
    assert planted.exists() is stays


async def test_what_a_removal_left_half_done_is_no_replica(fleet: Fleet, tmp_path: Path) -> None:
    """It was started again, as one that had been deleted, while no control plane was in reach."""
    left = ReplicaFolder(tmp_path / "replicas" / "r1.doomed")
    left.write(Entry(replica(1, "one")))
    fleet.adopt()
    await fleet.wake()
    assert not fleet.observed()
    assert not list((tmp_path / "replicas").iterdir())
