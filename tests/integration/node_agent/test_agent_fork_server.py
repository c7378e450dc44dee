"""Runtimes forked by the agent's fork server: in the real sandbox, and whatever becomes of it."""

import dataclasses
import os
import signal
from pathlib import Path

import httpx
import pytest

from node_agent import orphans
from tests.support.agent_node import Node, until
from tests.support.doubled import double, replica
from tests.support.fake_control_plane import FakeControlPlane

READY = "The fork server is ready, process "


def log(node: Node) -> str:
    return (node.home / "agent.log").read_text()


def server_pid(node: Node) -> int:
    """Of the last one that is ready."""
    until(lambda: READY in log(node), "no fork server")
    return int(log(node).rpartition(READY)[2].split()[0])


def forked(node: Node, replica_id: str) -> bool:
    """Whether its last start was a fork."""
    notes = node.folder(replica_id).agent_log.read_text().splitlines()
    return [line for line in notes if "started the runtime" in line][-1].endswith("a fork")


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_fork_is_what_an_ordinary_start_is(node: Node, control_plane: FakeControlPlane) -> None:
    """In all that an agent goes by: identity, parent, session, command line, log, its end."""
    ordinary = dataclasses.replace(replica(control_plane, "r2"), environment={"OWN": "1"})
    control_plane.desire(replica(control_plane), ordinary)
    node.start()
    seen, other = node.ready("r1"), node.ready("r2")
    assert (forked(node, "r1"), forked(node, "r2")) == (True, False)
    assert double(seen) == double(other) == [3.0, 8.0]
    assert node.process is not None
    assert (parent(seen.pid), os.getsid(seen.pid)) == (node.process.pid, seen.pid)
    found = {one.replica_id: one.process.pid for one in orphans.find(node.home / "node/replicas")}
    assert found == {"r1": seen.pid, "r2": other.pid}
    assert _kept(seen.pid) == _kept(other.pid)
    assert "successfully loaded 'double'" in node.folder("r1").runtime_log.read_text()

    os.kill(seen.pid, signal.SIGKILL)
    again = node.wait_for("r1", lambda now: now.state == "ready" and now.pid != seen.pid)
    assert (again.restarts, forked(node, "r1")) == (1, True)
    assert "was killed by SIGKILL" in node.folder("r1").agent_log.read_text()
    assert not Path(f"/proc/{seen.pid}").exists(), "nobody has taken its end"
    assert node.end(signal.SIGINT) == 0
    assert not Path(f"/proc/{server_pid(node)}").exists()


def _kept(pid: int) -> dict[str, object]:
    """What the kernel says of a process: who it is, and what it may."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    wanted = ("Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Umask", "CoreDumping")
    fields = dict(line.split(":", 1) for line in lines)
    names = [name for name in fields if name.startswith(("Cap", "Sig")) or name in wanted]
    status: dict[str, object] = {name: fields[name] for name in names if name != "SigQ"}
    proc = Path(f"/proc/{pid}")
    opened = {number.name: str(number.readlink()) for number in (proc / "fd").iterdir()}
    handed = {name: to for name, to in opened.items() if name in {"0", "1", "2"}}
    return {
        **status,
        "ids": len(set(fields["Uid"].split())),
        "limits": (proc / "limits").read_text(),
        "files": len(opened),
        "handed": {name: Path(to).name for name, to in handed.items()},
        "owner": (proc / "fd").stat().st_uid == int(fields["Uid"].split()[0]),
        "oom": (proc / "oom_score_adj").read_text(),
        "mounts": len((proc / "mountinfo").read_text().splitlines()),
    }


def test_what_was_forked_outlives_fork_server_and_agent(
    node: Node, control_plane: FakeControlPlane
) -> None:
    """One that hangs costs a start two seconds, and its successor forks again."""
    control_plane.desire(replica(control_plane))
    node.start()
    first = node.ready("r1")
    hung = server_pid(node)
    os.kill(hung, signal.SIGSTOP)
    control_plane.desire(replica(control_plane), replica(control_plane, "r2"))
    assert double(node.ready("r2")) == [3.0, 8.0]
    assert (forked(node, "r1"), forked(node, "r2")) == (True, False)
    assert log(node).count("Replicas start without the fork server, and slower: timed out") == 1
    until(lambda: server_pid(node) != hung, "there is no other fork server")

    assert node.end(signal.SIGTERM) == 0
    assert double(first) == [3.0, 8.0]
    node.start()
    node.wait_for("r1", lambda seen: (seen.pid, seen.state) == (first.pid, "ready"))
    control_plane.desire(replica(control_plane, "r2"))
    until(lambda: control_plane.observed("r1") is None, "what was adopted is not stopped")
    with pytest.raises(httpx.ConnectError):
        double(first)
    assert node.end(signal.SIGINT) == 0


def test_code_that_has_changed_on_disk_is_not_forked_from_memory(
    node: Node, control_plane: FakeControlPlane, tmp_path: Path
) -> None:
    """As after an upgrade under a running agent."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "sitecustomize.py").write_text("")
    node.environment["PYTHONPATH"] = str(code)
    node.start()
    before = server_pid(node)
    (code / "sitecustomize.py").write_text("changed = True")
    control_plane.desire(replica(control_plane))
    assert double(node.ready("r1")) == [3.0, 8.0]
    assert not forked(node, "r1")
    assert f"its code has changed on disk: {code}/sitecustomize.py" in log(node)
    until(lambda: server_pid(node) != before, "there is no other fork server")
    control_plane.desire(replica(control_plane, generation=2))
    node.wait_for("r1", lambda seen: (seen.state, seen.generation) == ("ready", 2))
    assert forked(node, "r1")
    assert node.end(signal.SIGINT) == 0
