"""A real Envoy in a folder of files, and what it has taken of the processor so far."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.host import process_cpu_s
from controlplane.gateway.admin import EnvoyAdmin, EnvoyUnreachable
from controlplane.gateway.bootstrap import admin_socket, describe, envoy_argv
from controlplane.gateway.settings import GatewaySettings

_START_S = 30.0


@dataclass(frozen=True, slots=True)
class Envoy:
    """``prefix``: what paths of a runtime begin with here."""

    pid: int
    prefix: str
    plain_port: int
    tls_port: int
    ca: Path

    def cpu_s(self) -> float:
        return process_cpu_s(self.pid)


@contextmanager
def running(settings: GatewaySettings, prefix: str = "") -> Iterator[Envoy]:
    """Envoy by the files in ``settings``; its log is shown when it does not get ready."""
    log = settings.folder / "envoy.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            envoy_argv(settings), cwd=settings.folder, stdout=output, stderr=output
        )
    admin = EnvoyAdmin(admin_socket(settings))
    try:
        _wait(process, settings, admin, log)
        ca = Path(describe(settings)["ca_path"])
        yield Envoy(process.pid, prefix, settings.plain_port, settings.tls_port, ca)
    finally:
        admin.close()
        process.kill()
        process.wait()


def _wait(
    process: subprocess.Popen[bytes], settings: GatewaySettings, admin: EnvoyAdmin, log: Path
) -> None:
    give_up = time.monotonic() + _START_S
    while time.monotonic() < give_up and process.poll() is None:
        try:
            hosts = admin.host_health()
            httpx.get(f"http://127.0.0.1:{settings.plain_port}", trust_env=False)
        except (EnvoyUnreachable, httpx.TransportError):
            hosts = {}
        if hosts and all(hosts.values()):
            return
        time.sleep(0.05)
    raise RuntimeError(f"Envoy did not get ready:\n{log.read_text()[-4000:]}")
