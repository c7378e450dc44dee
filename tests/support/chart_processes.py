"""The pods of the chart as processes of this machine: commands, environment, files, probes."""

import json
import os
import re
import secrets
import socket
import ssl
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import httpx

from controlplane.core.certificates import Signer, key_pem, pem
from shoal.local import ports
from tests.support.chart_programs import Place, claim, secret_files
from tests.support.helm_chart import NAMESPACE, ROOT, Document, containers, pods
from tests.support.reaper import clean_environment, die_with_parent
from tests.support.runtime_process import wait_until

BIN = Path(sys.executable).parent
HERE = "127.0.0.1"
STOP_S = 20
# Where the programs listen in a pod, and by which variable they are told otherwise.
PORTS = {
    8445: "SHOAL_AGENT_PORT",
    8443: "SHOAL_GATEWAY_TLS_PORT",
    8090: "SHOAL_GATEWAY_PORT",
    8080: "",
}
SERVICE = re.compile(rf"\bshoal-[a-z-]+(?:\.{NAMESPACE}\.svc)?:(\d+)")


class ChartProcesses:
    """Of one set of values, in `folder`. A pod's container is named as ``web/web``."""

    def __init__(self, folder: Path, values: str = "minimal") -> None:
        self.folder = folder
        self._pods = pods(values)
        self._held = ExitStack()
        self._ports = {port: ports.reserve(0, self._held) for port in PORTS}
        self._redis = ports.reserve(0, self._held)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._secrets = self._made()

    def __enter__(self) -> Self:
        command = [str(BIN / "redis-server"), "--port", str(self._redis), "--save", ""]
        self._spawn("redis", die_with_parent(*command, "--bind", HERE), clean_environment())
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes.values()):
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S)
            process.kill()
            process.wait()
        self._held.close()

    def _made(self) -> dict[str, dict[str, str]]:
        """What an operator makes before the installation (docs/kubernetes.md)."""
        now = datetime.now(UTC)
        authority = Signer.new("shoal agents", now=now, life=timedelta(days=3650))
        databases = {name: f"sqlite:///{self.folder / name}.db" for name in ("main", "metrics")}
        names = ("secret-key", "gateway-token", "node-token")
        return {
            "shoal-keys": {name: secrets.token_urlsafe(33) for name in names},
            "shoal-database": {"uri": databases["main"]},
            "shoal-metrics-database": {"uri": databases["metrics"]},
            "shoal-redis": {"url": f"redis://{HERE}:{self._redis}/0"},
            "shoal-agents-authority": {
                "tls.crt": pem(authority.certificate),
                "tls.key": key_pem(authority.key),
            },
        }

    def url(self, port: int, path: str, *, scheme: str = "http") -> str:
        return f"{scheme}://{HERE}:{self._ports[port]}{path}"

    def file(self, name: str, path: str) -> Path:
        """A file of a container, here."""
        pod, container = self._found(name)
        return Path(self._place(pod).here(container, path))

    def run(self, name: str, command: list[str] | None = None) -> subprocess.CompletedProcess[str]:
        """A container that ends, or another command in it, to its end."""
        argv, told = self._argv(name, command), self._environment(name)
        return subprocess.run(
            argv, env=told, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )

    def start(self, *names: str) -> None:
        for name in names:
            self._spawn(name, self._argv(name), self._environment(name))

    def end(self, *names: str) -> None:
        """SIGTERM to all of them at once, as of a pod that goes; waits for their ends."""
        for name in names:
            self._processes[name].terminate()
        for name in names:
            self._processes.pop(name).wait(STOP_S)

    def leave(self, name: str) -> subprocess.CompletedProcess[str]:
        """Its preStop hook."""
        hook: list[str] = self._found(name)[1]["lifecycle"]["preStop"]["exec"]["command"]
        return self.run(name, hook)

    def answers(self, name: str, kind: str) -> bool:
        """Whether its probe of this kind succeeds, as the kubelet would ask."""
        probe: Document = self._found(name)[1][kind]
        if "exec" in probe:
            return self.run(name, probe["exec"]["command"]).returncode == 0
        asked = probe.get("httpGet", probe.get("tcpSocket"))
        inside = {port["name"]: port for port in self._found(name)[1]["ports"]}
        port = self._ports[inside[asked["port"]]["containerPort"]]
        try:
            if "tcpSocket" in probe:
                socket.create_connection((HERE, port), 3).close()
                return True
            unverified = ssl.create_default_context()
            unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
            url = f"{asked.get('scheme', 'HTTP').lower()}://{HERE}:{port}{asked['path']}"
            return httpx.get(url, verify=unverified, trust_env=False, timeout=4).status_code == 200
        except (OSError, httpx.TransportError):
            return False

    def wait_for(self, *names: str, kind: str = "readinessProbe") -> None:
        for name in names:
            wait_until(lambda name=name: self._alive(name) and self.answers(name, kind), name)

    def _alive(self, name: str) -> bool:
        code = self._processes[name].poll()
        assert code is None, f"{name} ended with {code}:\n{self._log(name).read_text()[-3000:]}"
        return True

    def _log(self, name: str) -> Path:
        return self.folder / f"{name.replace('/', '-')}.log"

    def _spawn(self, name: str, argv: list[str], told: Mapping[str, str]) -> None:
        with self._log(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                argv, env=told, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )

    def _found(self, name: str) -> tuple[str, Document]:
        pod, _, wanted = name.partition("/")
        return pod, next(one for one in containers(self._pods[pod]) if one["name"] == wanted)

    def _argv(self, name: str, command: list[str] | None = None) -> list[str]:
        pod, container = self._found(name)
        argv = [self._moved(word) for word in self._place(pod).argv(container, command)]
        if argv[0] == "uvicorn":
            return [str(self._ports[8080]) if part == "8080" else part for part in argv]
        return argv

    def _environment(self, name: str) -> dict[str, str]:
        pod, container = self._found(name)
        told = self._place(pod).variables(container, self._secrets)
        machine = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOSTNAME": socket.gethostname()}
        ports = {variable: str(self._ports[port]) for port, variable in PORTS.items() if variable}
        moved = {variable: self._moved(text) for variable, text in told.items()}
        return {**clean_environment(), **machine, **moved, **ports}

    def _moved(self, text: str) -> str:
        """What services and addresses of the pod are on this machine."""
        text = SERVICE.sub(lambda hit: f"{HERE}:{self._ports[int(hit.group(1))]}", text)
        return text.replace("0.0.0.0", HERE)

    def _place(self, pod: str) -> Place:
        volumes = self._pods[pod]["spec"]["volumes"]
        folders = {volume["name"]: self._volume(pod, volume) for volume in volumes}
        return Place(f"shoal-{pod}-x7k2p", HERE, "m1", folders)

    def _volume(self, pod: str, volume: Document) -> Path:
        folder = self.folder / (claim(volume) or f"{pod}-{volume['name']}")
        folder.mkdir(exist_ok=True)
        if "secret" in volume:
            for path, content in secret_files(volume, self._secrets).items():
                (folder / path).write_text(content)
        return folder

    def token(self) -> str:
        """That of an administrator, which the set-up made."""
        kept: dict[str, Any] = json.loads(self.file("setup/setup", "/data/setup.json").read_text())
        return str(kept["local_token"])
