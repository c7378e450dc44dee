"""A hostile model under a real agent: as root, as an ordinary user, and in a container."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import hostile
from tests.support.agent_node import DEADLINE_S, Node
from tests.support.fake_control_plane import FakeControlPlane
from tests.support.hostile_targets import targets
from wire.messages import DesiredReplica, ObservedReplica

DISK_BYTES = 8 << 20
PROCESSES = 100
HOW = ("root", "ordinary", "contained")
STARTS = (*((how, "on") for how in HOW), ("root", "off"))


def hostile_replica(control_plane: FakeControlPlane, replica_id: str) -> DesiredReplica:
    code = Path(hostile.__file__).read_bytes()
    return DesiredReplica(
        replica_id=replica_id,
        generation=1,
        endpoint="hostile",
        deployment="blue",
        files=(
            control_plane.file("hostile/1/model.py", code),
            control_plane.file("hostile/config.pbtxt", hostile.CONFIG.encode()),
        ),
        models=("hostile",),
        load_timeout_s=DEADLINE_S,
    )


def ask(seen: ObservedReplica, name: str, to: dict[str, Any]) -> dict[str, str]:
    text = json.dumps({"name": name, "to": to})
    tensor = {"name": "REQUEST", "datatype": "BYTES", "shape": [1], "data": [text]}
    url = f"http://127.0.0.1:{seen.http_port}/v2/models/hostile/infer"
    answer = httpx.post(url, json={"inputs": [tensor]}, timeout=60).raise_for_status().json()
    found: dict[str, str] = json.loads(answer["outputs"][0]["data"][0])
    return found


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def started(
    stack: ExitStack, folder: Path, how: str, **more: str
) -> tuple[Node, FakeControlPlane, ObservedReplica, ObservedReplica]:
    """A node, its control plane, the attacker, and the one beside it."""
    if how == "root" and os.geteuid():
        pytest.skip("only root makes users")
    control_plane = FakeControlPlane()
    stack.enter_context(control_plane.serve())
    folder.mkdir()
    node = stack.enter_context(Node(folder, control_plane, **more))
    node.ordinary, node.contained = how != "root", how == "contained"
    control_plane.desire(hostile_replica(control_plane, "r1"), hostile_replica(control_plane, "r2"))
    node.start()
    return node, control_plane, node.ready("r1"), node.ready("r2")


@pytest.mark.parametrize(("how", "forks"), STARTS)
def test_a_hostile_model_gets_nothing_that_the_node_says_it_keeps(
    stack: ExitStack, tmp_path: Path, how: str, forks: str
) -> None:
    limits = {
        "SHOAL_NODE_FORK_SERVER": forks,
        "SHOAL_SANDBOX_NETWORK": "none",
        "SHOAL_SANDBOX_DISK_BYTES": str(DISK_BYTES),
        "SHOAL_SANDBOX_PROCESSES": str(PROCESSES),
    }
    node, control_plane, seen, sibling = started(stack, tmp_path / "home", how, **limits)
    holds = control_plane.reports[-1].node.sandbox
    assert (", a fork\n" in node.folder("r1").agent_log.read_text()) is (forks == "on")
    assert node.process is not None
    port = int(control_plane.url.rpartition(":")[2])
    to = targets(
        stack, node.home / "node", "r1", "r2", agent_pid=node.process.pid,
        sibling_pid=sibling.pid, port=port, disk_bytes=DISK_BYTES,
    )  # fmt: skip
    found = {one.name: ask(seen, one.name, to) for one in hostile.ATTEMPTS}
    sys.stdout.write(f"{how}: {holds}\n")
    for one in hostile.ATTEMPTS:
        sys.stdout.write(f"{one.name}: {found[one.name]}\n")
    escaped = {
        one.name: found[one.name]
        for one in hostile.ATTEMPTS
        if "got" in found[one.name] and any(holds[name] for name in one.by)
    }
    assert not escaped
    assert node.process is not None and node.process.poll() is None
    again = ask(seen, "read /etc/shadow", to)
    assert "held" in again, "it serves on"
