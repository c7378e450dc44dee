"""A running control plane for tests: Redis, uvicorn, a Celery worker, in a home of their own."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import redis
from psycopg.sql import SQL, Identifier

from shoal.local import ports
from tests.support.reaper import die_with_parent
from tests.support.runtime_process import wait_until

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
STOP_S = 20


@dataclass
class Installation:
    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    redis_port: int = 0
    held: ExitStack = field(default_factory=ExitStack)  # what keeps the port of Redis ours
    url: str = ""
    agents_url: str = ""
    token: str = ""
    admin_password: str = ""

    def prepare(self) -> None:
        """Start Redis, migrate, make the administrator."""
        self.settle()
        self.set_up()

    def settle(self) -> None:
        """Choose addresses, start Redis; databases are new and empty."""
        (self.home / "db").mkdir(parents=True)
        (self.home / "logs").mkdir()
        port, agents = ports.reserve(0, self.held), ports.reserve(0, self.held)
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
            "SHOAL_HOME": str(self.home),
            "SHOAL_SECRET_KEY": "integration-" + "x" * 40,
            "SHOAL_GATEWAY_TOKEN": "integration-gateway-token",
            "SHOAL_REDIS_URL": f"redis://127.0.0.1:{port}/0",
            "SHOAL_AGENT_PORT": str(agents),
            **_new_databases(),
        }
        self.redis_port = port
        self.agents_url = f"https://127.0.0.1:{agents}"
        self.start_redis()

    def set_up(self) -> None:
        """Migrate, make the administrator."""
        output, authority = self.home / "setup.json", self.home / "agents-ca.pem"
        command = [sys.executable, "-m", "shoal.local.prepare", str(output)]
        self.run([*command, "--authority-file", str(authority)])
        answer = json.loads(output.read_text())
        self.token = answer["local_token"]
        self.admin_password = answer["admin_password"] or ""

    def start_redis(self) -> None:
        command = [str(BIN / "redis-server"), "--port", str(self.redis_port), "--save", ""]
        self.spawn(
            "redis", die_with_parent(*command, "--bind", "127.0.0.1", "--dir", str(self.home))
        )
        with redis.Redis(port=self.redis_port) as client:
            wait_until(lambda: _answers(client), "Redis")

    def manage(self, *arguments: str) -> None:
        self.run([sys.executable, str(ROOT / "manage.py"), *arguments])

    def python(self, script: str) -> None:
        """Run ``script`` with the installation's settings."""
        self.run([sys.executable, "-c", script])

    def run(self, command: list[str]) -> None:
        """To its end, with the installation's settings."""
        done = subprocess.run(
            command, env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr

    def start_web(self) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            command = ["uvicorn", "controlplane.config.asgi:application", "--fd"]
            handle = str(listener.fileno())
            self.spawn("web", [sys.executable, "-m", *command, handle], (listener.fileno(),))
        wait_until(lambda: self.alive("web") and _ok(f"{self.url}/readyz"), self.log("web"))

    def start_agents(self) -> None:
        """The port of nodes and gateways; its authority is in ``home/agents-ca.pem``."""
        self.spawn("agents", [sys.executable, "-m", "controlplane.config.agent_server"])
        trusted = ssl.create_default_context(cafile=self.home / "agents-ca.pem")
        url = f"{self.agents_url}/agent/v1/ca"
        wait_until(lambda: self.alive("agents") and _ok(url, trusted), "agents")

    def start_worker(self) -> None:
        command = ["controlplane.config.jobs", "worker", "-Q", "control,ingest"]
        options = ["-c", "1", "--without-gossip", "--without-mingle", "--loglevel", "INFO"]
        self.spawn("worker", [sys.executable, "-m", *command, *options])
        wait_until(lambda: self.alive("worker") and "ready." in self.log("worker"), "the worker")

    def spawn(self, name: str, command: list[str], handles: tuple[int, ...] = ()) -> None:
        with (self.home / "logs" / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment, cwd=ROOT, stdout=log, stderr=log,
                pass_fds=handles, start_new_session=True,
            )  # fmt: skip

    def is_running(self, name: str) -> bool:
        return name in self.processes and self.processes[name].poll() is None

    def alive(self, name: str) -> bool:
        code = self.processes[name].poll()
        assert code is None, f"{name} ended with {code}:\n{self.log(name)}"
        return True

    def log(self, name: str) -> str:
        path = self.home / "logs" / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def kill(self, name: str) -> None:
        """End a process and all its children at once."""
        process = self.processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(STOP_S)

    def nobody_listens(self) -> bool:
        """Redis has noticed that workers are gone: it would still hand them what is sent next."""
        with redis.Redis(port=self.redis_port) as client:
            return int(client.info("clients")["blocked_clients"]) == 0

    def stop(self) -> None:
        for name in reversed(list(self.processes)):
            process = self.processes[name]
            process.terminate()
            with suppress(subprocess.TimeoutExpired):  # then it is killed
                process.wait(STOP_S)
            self.kill(name)
        self.held.close()

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=30)

    def memory_bytes(self, name: str) -> int:
        """The most that the process ever held in memory."""
        status = Path(f"/proc/{self.processes[name].pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024


def _new_databases() -> dict[str, str]:
    """Where tests run on PostgreSQL: databases that no other installation uses."""
    found = {}
    for variable in ("SHOAL_DATABASE_URL", "SHOAL_METRICS_DATABASE_URL"):
        url = os.environ.get(variable, "")
        if url.startswith("postgres"):
            parts = urlsplit(url)
            name = f"{parts.path.lstrip('/')}_{uuid.uuid4().hex}"
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
            found[variable] = urlunsplit(parts._replace(path=f"/{name}"))
    return found


def _answers(client: "redis.Redis") -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def _ok(url: str, trusted: ssl.SSLContext | bool = True) -> bool:
    try:
        return httpx.get(url, timeout=5, verify=trusted).status_code == 200
    except httpx.TransportError:
        return False
