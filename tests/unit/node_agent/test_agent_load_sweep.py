"""Load sweeps at an agent: one process at most, as long as it is desired, told point by point."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from node_agent.fleet import Fleet
from node_agent.load_sweep import LoadSweeps
from wire.load import DesiredLoad, LoadPlan
from wire.messages import DesiredState, ObservedLoad

PLAN = LoadPlan("m", "concurrency", (1.0, 2.0), 1.0)
POINT = '{"point": {"level": 1.0, "seconds": 1.0, "good": 5, "throughput": 5.0}}'
# A client that says what it was told, and then does what its last line says.
CLIENT = """
import json, sys
job = json.loads(sys.stdin.readline())
assert (job["host"], job["port"], job["plan"]["model"]) == ("127.0.0.1", 9001, "m"), job
assert job["longest_s"] > 2
def say(text): print(text, flush=True)
"""


@dataclass
class Replicas:
    state: str = "ready"
    generation: int = 1

    def listening(self, replica_id: str) -> Any:
        seen = SimpleNamespace(http_port=9001, state=self.state)
        return seen if replica_id == "r1" else None


@dataclass
class Node:
    """The sweeps of one node, whose client does what ``does`` says."""

    does: str = ""
    fleet: Replicas = field(default_factory=Replicas)

    def __post_init__(self) -> None:
        self.changed = asyncio.Event()
        program = (sys.executable, "-c", CLIENT + self.does)
        self.sweeps = LoadSweeps(
            cast(Fleet, self.fleet), "127.0.0.1", {}, self.changed.set, program
        )

    def desire(self, *loads: DesiredLoad, generation: int = 1) -> None:
        self.sweeps.apply(DesiredState("n1", generation, loads=loads))

    async def until(self, state: str, points: int = 0) -> ObservedLoad:
        async with asyncio.timeout(30):
            while True:
                (seen,) = self.sweeps.observed()
                if seen.state == state and len(seen.points) >= points:
                    return seen
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
async def node_of() -> AsyncIterator[Any]:
    made: list[Node] = []

    def node(does: str = "", **fleet: Any) -> Node:
        made.append(Node(does, Replicas(**fleet)))
        return made[-1]

    yield node
    for one in made:
        await one.sweeps.close()


def load(key: str = "s1", **changes: Any) -> DesiredLoad:
    return DesiredLoad(key, changes.pop("replica", "r1"), PLAN, **changes)


async def test_points_are_told_as_they_come_and_once_it_is_over_that(node_of: Any) -> None:
    node = node_of(f"""
say('{POINT}')
sys.stdin.read()
""")
    node.desire(load())
    assert node.sweeps.observed() == (ObservedLoad("s1", "running"),)
    seen = await node.until("running", points=1)
    assert [point.throughput for point in seen.points] == [5.0]
    node.desire(load())  # asked for again, it goes on
    assert node.sweeps.observed() == (seen,)
    node.desire()
    assert node.sweeps.observed() == ()


async def test_it_finishes_and_is_told_until_it_is_heard(node_of: Any) -> None:
    node = node_of(f"""
say('{POINT}')
say('{{"stopped_by": "p95 was over 5"}}')
""")
    node.desire(load())
    seen = await node.until("finished")
    assert (len(seen.points), seen.stopped_by, seen.error) == (1, "p95 was over 5", None)
    node.desire(load(begun=True))
    assert node.sweeps.observed() == (seen,)


@pytest.mark.parametrize(
    ("does", "code", "words"),
    [
        ("""say('{"failed": {"code": "NothingAnswered", "message": "HTTP 400"}}')""",
         "NothingAnswered", "HTTP 400"),
        ("sys.exit('out of memory')", "LoadClientEnded", "exited with status 1"),
        ("import os; os.kill(os.getpid(), 9)", "LoadClientEnded", "was killed by SIGKILL"),
        ("say('rubbish')", "LoadClientFailed", "cannot be used"),
        ("""say('{"point": {"level": "high"}}')""", "LoadClientFailed", "level"),
    ],
)  # fmt: skip
async def test_why_it_failed(node_of: Any, does: str, code: str, words: str) -> None:
    node = node_of(does)
    node.desire(load())
    seen = await node.until("failed")
    assert (seen.error.code, words in seen.error.message) == (code, True), seen.error
    if "memory" in does:
        assert "out of memory" in seen.error.detail


@pytest.mark.parametrize(
    ("fleet", "wanted", "code"),
    [
        ({"state": "loading"}, load(), "ReplicaNotReady"),
        ({}, load(replica="r2"), "ReplicaNotReady"),
        ({}, load(begun=True), "AgentRestarted"),
        ({}, DesiredLoad("s1", "r1", LoadPlan("m", "concurrency", (9e9,), 1.0)), "BadArgument"),
    ],
)
async def test_what_is_not_begun(node_of: Any, fleet: Any, wanted: DesiredLoad, code: str) -> None:
    node = node_of("say('never')", **fleet)
    node.desire(wanted)
    seen = await node.until("failed")
    assert seen.error.code == code


async def test_what_is_not_desired_any_more_is_ended_before_the_next_begins(node_of: Any) -> None:
    node = node_of("""
import os
say(json.dumps({"point": {"level": os.getpid(), "seconds": 1, "good": 1, "throughput": 1}}))
sys.stdin.read()
""")
    node.desire(load())
    first = int((await node.until("running", points=1)).points[0].level)
    node.desire(load("s2"))
    second = await node.until("running", points=1)
    assert second.load_id == "s2" and int(second.points[0].level) != first
    assert not _runs(first)
    await node.sweeps.close()
    assert not _runs(int(second.points[0].level))


async def test_an_older_state_that_comes_late_ends_nothing(node_of: Any) -> None:
    node = node_of("sys.stdin.read()", generation=5)
    node.desire(load(), generation=5)
    node.desire(generation=4)
    assert [seen.load_id for seen in node.sweeps.observed()] == ["s1"]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
