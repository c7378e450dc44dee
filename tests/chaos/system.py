"""The whole product on one machine, with further node agents behind cables of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import redis

from tests.chaos.load import Load
from tests.chaos.proxy import Cable
from tests.chaos.studio import Studio, until
from tests.e2e.product import ROOT, Product
from tests.support.reaper import clean_environment

STOP_S = 30.0
# Two minutes for people, less for tests; a broker on TCP, for the tests to reach.
FAST = {"SHOAL_NODE_LOST_AFTER_S": "30", "SHOAL_REDIS_PORT": "0"}


@dataclass
class Node:
    """One more node agent; its control plane is at the far end of a cable."""

    name: str
    home: Path
    control: Cable
    environment: dict[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    program: tuple[str, ...] = ("-m", "node_agent")

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.program],
                env=self.environment,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return (self.home / "agent.log").read_text(errors="replace")

    def runtimes(self, endpoint: str = "") -> dict[str, int]:
        """Replica id -> process id of every runtime that lives, by the journals; or of one's."""
        found = {}
        for journal in (self.home / "node" / "replicas").glob("*/state.json"):
            with suppress(OSError, ValueError):
                state = json.loads(journal.read_text())
                pid = int(state["pid"])
                wanted = endpoint in ("", state["replica"]["endpoint"])
                if pid and wanted and _lives(pid):
                    found[journal.parent.name] = pid
        return found

    def kill_agent(self) -> None:
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)

    def kill_runtime(self, replica_id: str) -> None:
        os.killpg(self.runtimes()[replica_id], signal.SIGKILL)

    def kill_runtimes(self) -> None:
        for pid in self.runtimes().values():
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def die(self) -> None:
        """As when its power fails: the agent first, so that it cannot restart or report."""
        self.kill_agent()
        self.kill_runtimes()

    def split(self) -> None:
        self.control.cut()

    def reunite(self) -> None:
        self.control.heal()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
            self.kill_agent()
        self.kill_runtimes()
        self.control.close()


@dataclass
class System:
    folder: Path
    more: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)

    def start(self) -> None:
        self.product = Product(self.folder / "home", more={**FAST, **self.more})
        self.product.start()
        self.studio = Studio(self.product.url, self.product.client["token"])

    def stop(self) -> None:
        for node in self.nodes.values():
            node.stop()
        self.product.stop()

    def add_node(self, name: str, *, home: Path | None = None, **more: str) -> Node:
        """Join one more node and wait until it is online."""
        node = self.new_node(name, home=home, **more)
        node.start()
        self.online(name)
        return node

    def new_node(self, name: str, *, home: Path | None = None, **more: str) -> Node:
        made = self.studio.send("POST", "/join-tokens")
        told = dict(word.split("=", 1) for word in made["command"].split() if "=" in word)
        address = urlsplit(told["SHOAL_CONTROL_URL"])
        control = Cable((str(address.hostname), int(address.port or 443)))
        node = Node(
            name,
            home or self.folder / name,
            control,
            {
                **clean_environment(),
                "SHOAL_HOME": str(home or self.folder / name),
                "SHOAL_CONTROL_URL": f"https://127.0.0.1:{control.port}",
                "SHOAL_NODE_NAME": name,
                "SHOAL_JOIN_TOKEN": made["token"],
                "PYTHONUNBUFFERED": "1",
                **more,
            },
        )
        self.nodes[name] = node
        return node

    def online(self, name: str, state: str = "online", within_s: float = 90.0) -> None:
        def look() -> bool:
            found = self.studio.patiently(f"/nodes/{name}")
            return bool(found) and found["state"] == state

        until(look, f"node {name} is {state}", within_s)

    def remove_node(self, name: str) -> None:
        self.nodes.pop(name).stop()
        self.studio.http.delete(f"/nodes/{name}?force=true")

    def label(self, pool: str, *names: str) -> dict[str, str]:
        """Only these nodes have the label; deployments that ask for it run there."""
        for name in names:
            self.studio.send("PATCH", f"/nodes/{name}", {"labels": {"pool": pool}})
        return {"pool": pool}

    # The parts of `shoal up`

    def child(self, word: str) -> psutil.Process:
        """The child of the supervisor whose command line has ``word``."""
        assert self.product.process is not None
        children = psutil.Process(self.product.process.pid).children()
        return next(child for child in children if word in " ".join(_cmdline(child)))

    def asked(self) -> tuple[psutil.Process, psutil.Process]:
        """Whom people, and whom nodes and gateways, ask."""
        return self.child("web_server"), self.child("agent_server")

    def kill_child(self, word: str) -> None:
        victim = self.child(word)
        with suppress(ProcessLookupError):
            os.killpg(victim.pid, signal.SIGKILL)

    def comes_back(self, word: str, before: int, within_s: float = 120) -> float:
        """Seconds until another process has taken the place of ``before``."""
        began = time.monotonic()

        def look() -> bool:
            try:
                return self.child(word).pid != before
            except StopIteration:
                return False

        until(look, f"{word} is started again", within_s)
        return time.monotonic() - began

    def ready(self, within_s: float = 120.0) -> None:
        """The web process answers and reaches all it needs."""

        def look() -> bool:
            try:
                return httpx.get(f"{self.product.url}/readyz", trust_env=False).status_code == 200
            except httpx.HTTPError:
                return False

        until(look, "readyz", within_s)

    @property
    def redis_port(self) -> int:
        configuration = (self.product.home / "redis" / "redis.conf").read_text()
        line = next(line for line in configuration.splitlines() if line.startswith("port "))
        return int(line.split()[1])

    @property
    def _redis_password(self) -> str:
        return (self.product.home / "secrets" / "redis_password").read_text().strip()

    def redis(self) -> "redis.Redis":
        return redis.Redis.from_url(self.redis_url(self.redis_port))

    def redis_url(self, port: int) -> str:
        return f"redis://shoal:{self._redis_password}@127.0.0.1:{port}/0"

    def load(self, name: str, model: str = "tiny", **how: Any) -> Load:
        """Callers of this endpoint, not yet started."""
        url, key = self.studio.infer_url(name, model), self.studio.key(name)
        return Load(url, key, access_log=self.product.home / "gateway" / "access.log", **how)

    def endpoint(self, name: str, **wanted: Any) -> None:
        """A live endpoint of the smallest model."""
        if self.studio.http.get("/models/tiny").status_code == 404:
            self.studio.register("tiny")
        self.studio.succeeded(self.studio.deploy(name, "tiny", **wanted))


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
