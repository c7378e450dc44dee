"""A real agent process on a data folder of its own, against a control plane in memory."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from node_agent import process
from node_agent.journal import ReplicaFolder
from tests.support.fake_control_plane import TOKEN, FakeControlPlane
from tests.support.ordinary_user import as_ordinary_user
from wire.messages import ObservedReplica

DEADLINE_S = 60


def until(condition: Callable[[], object], what: str, deadline_s: float = DEADLINE_S) -> None:
    pause = 0.05
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline, what
        # A wait on a condition with a deadline; select keeps signals from being lost.
        signal.sigtimedwait([], pause)


class Node:
    """An agent process on one data folder; may be ended and started again.

    `ordinary`: not as root; `contained`: where it may make no namespaces, as in most containers.
    """

    def __init__(self, home: Path, control_plane: FakeControlPlane, **more: str) -> None:
        self.home = home
        self.control_plane = control_plane
        self.environment = {
            **os.environ,
            "SHOAL_HOME": str(home),
            "SHOAL_CONTROL_URL": control_plane.url,
            "SHOAL_JOIN_TOKEN": TOKEN,
            "SHOAL_NODE_NAME": "n1",
            **more,
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.ordinary = self.contained = False

    def __enter__(self) -> "Node":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for path in (self.home / "node" / "replicas").glob("*"):
            entry = ReplicaFolder(path).read()
            if entry is not None and entry.process is not None and process.alive(entry.process):
                os.kill(entry.process.pid, signal.SIGKILL)

    def start(self) -> None:
        self.control_plane.reports = []  # what an earlier agent said says nothing about this one
        argv, given = [sys.executable, "-m", "node_agent"], b""
        if self.ordinary:
            argv, given = as_ordinary_user(
                argv, home=self.home, environment=self.environment, contained=self.contained
            )
        with (self.home / "agent.log").open("ab") as log, tempfile.TemporaryFile() as text:
            text.write(given)
            text.seek(0)
            self.process = subprocess.Popen(
                argv, env=self.environment, stdin=text, stdout=log, stderr=log
            )

    def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(DEADLINE_S)

    def folder(self, replica_id: str) -> ReplicaFolder:
        return ReplicaFolder(self.home / "node" / "replicas" / replica_id)

    def wait_for(
        self, replica_id: str, condition: Callable[[ObservedReplica], bool], deadline_s: float = 60
    ) -> ObservedReplica:
        def seen() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, "the agent has ended"
            found = self.control_plane.observed(replica_id)
            return found is not None and condition(found)

        try:
            until(seen, f"{replica_id}: {self.control_plane.states(replica_id)}", deadline_s)
        except AssertionError:
            folder = self.folder(replica_id)
            for log in (self.home / "agent.log", folder.agent_log, folder.runtime_log):
                if log.exists():
                    sys.stderr.write(f"--- {log.name}\n{log.read_text()[-4000:]}")
            raise
        found = self.control_plane.observed(replica_id)
        assert found is not None
        return found

    def ready(self, replica_id: str) -> ObservedReplica:
        seen = self.wait_for(replica_id, lambda seen: seen.state in {"ready", "failed"})
        assert seen.state == "ready", seen.error
        return seen
