"""The folder of a real agent: rotten bytes, a second agent, a lost journal, no folder at all."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from node_agent import process
from tests.support.agent_node import DEADLINE_S, Node, until
from tests.support.doubled import double, doubling_model, replica
from tests.support.fake_control_plane import FakeControlPlane


def said_about(control_plane: FakeControlPlane, replica_id: str, words: str) -> bool:
    return any(
        entry.replica_id == replica_id and words in entry.text for entry in control_plane.logs
    )


def test_bytes_that_rot_under_a_running_replica_are_found_and_mended(
    tmp_path: Path, control_plane: FakeControlPlane
) -> None:
    node = Node(
        tmp_path,
        control_plane,
        SHOAL_NODE_RECHECK_INTERVAL_S="2",
        SHOAL_NODE_RECHECK_LIMIT="1MiB",
    )
    wanted = replica(control_plane)
    (model,) = wanted.files
    control_plane.desire(wanted)
    node.start()
    try:
        first = node.ready("r1")
        file = node.folder("r1").repository / model.path
        status = file.stat()
        file.chmod(0o644)
        file.write_bytes(bytes(model.size))  # not even a model any more
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        until(
            lambda: [blob.sha256 for blob in control_plane.spoiled] == [model.sha256],
            "nobody is told",
        )
        until(lambda: file.read_bytes() == doubling_model(), "the good bytes do not come")
        until(
            lambda: said_about(control_plane, "r1", "had changed on this node's disk"),
            "no word of it",
        )
        until(
            lambda: control_plane.reports[-1].node.cache_spoiled == 0,
            "the next check finds nothing",
        )
        assert any(report.node.cache_spoiled == 1 for report in control_plane.reports)
        seen = control_plane.observed("r1")
        assert seen is not None
        assert (seen.pid, seen.restarts, seen.state) == (first.pid, 0, "ready")
        assert double(first) == [3.0, 8.0]
        os.kill(first.pid, signal.SIGKILL)
        again = node.wait_for("r1", lambda r: r.state == "ready" and r.pid != first.pid)
        assert double(again) == [3.0, 8.0]
        assert len(control_plane.spoiled) == 1
    finally:
        node.end(signal.SIGINT)


def test_a_second_agent_on_one_folder_is_refused(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.desire(replica(control_plane))
    node.start()
    first = node.ready("r1")
    second = Node(node.home, control_plane)
    second.start()
    assert second.process is not None
    assert second.process.wait(DEADLINE_S) == 1
    log = (node.home / "agent.log").read_text()
    assert node.process is not None
    assert f"process {node.process.pid} runs on it" in log
    assert "SHOAL_HOME" in log
    assert double(first) == [3.0, 8.0]
    node.end(signal.SIGKILL)  # its lock goes with it
    node.start()
    node.wait_for("r1", lambda seen: seen.pid == first.pid and seen.state == "ready")
    node.end(signal.SIGINT)


@pytest.mark.parametrize("how", ["half", "garbage", "gone"])
def test_a_runtime_whose_journal_is_lost_is_ended_before_it_is_started_anew(
    node: Node, control_plane: FakeControlPlane, how: str
) -> None:
    control_plane.desire(replica(control_plane))
    node.start()
    first = process.identify(node.ready("r1").pid)
    node.end(signal.SIGKILL)
    journal = node.folder("r1").path / "state.json"
    text = journal.read_bytes()
    if how == "gone":
        shutil.rmtree(node.folder("r1").path)
    else:
        journal.write_bytes(text[: len(text) // 2] if how == "half" else os.urandom(300))
    node.start()
    again = node.ready("r1")
    assert again.pid != first.pid
    assert not process.alive(first), "two runtimes for one replica"
    assert double(again) == [3.0, 8.0]
    node.end(signal.SIGINT)


def test_a_folder_deleted_under_a_running_agent_is_made_again(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.desire(replica(control_plane))
    node.start()
    first = node.ready("r1")
    credential = (node.home / "node" / "credential.json").read_bytes()
    (node.home / "node").rename(node.home / "deleted")  # at once: else it is made while we delete
    shutil.rmtree(node.home / "deleted")
    until(lambda: (node.home / "node" / "credential.json").exists(), "not made again")
    assert (node.home / "node" / "credential.json").read_bytes() == credential
    assert (node.home / "node").stat().st_mode & 0o777 == 0o700
    until(lambda: node.folder("r1").read() is not None, "no journal")
    reports = len(control_plane.reports)
    until(lambda: len(control_plane.reports) > reports + 2, "the heartbeat stopped")
    assert double(first) == [3.0, 8.0]
    node.end(signal.SIGKILL)
    node.start()
    node.wait_for("r1", lambda seen: seen.pid == first.pid and seen.state == "ready")
    os.kill(first.pid, signal.SIGKILL)
    again = node.wait_for("r1", lambda seen: seen.state == "ready" and seen.pid != first.pid)
    assert double(again) == [3.0, 8.0]
    node.end(signal.SIGINT)
