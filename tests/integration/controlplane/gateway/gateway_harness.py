"""What the gateway's tests work with: a real Envoy, stand-in replicas, views to route."""

import hashlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from controlplane.deployments.selectors import (
    KeyHash,
    RoutedDeployment,
    RoutedEndpoint,
    RoutedReplica,
    RoutingView,
)
from controlplane.gateway.admin import EnvoyAdmin, EnvoyUnreachable
from controlplane.gateway.apply import apply, keys_confirm
from controlplane.gateway.bootstrap import XDS, admin_socket, describe, envoy_argv
from controlplane.gateway.keys import key_check, keys_of
from controlplane.gateway.render import render
from controlplane.gateway.settings import GatewaySettings
from controlplane.gateway.xds import XdsFolder

KEY, SECOND_KEY, OTHER_KEY = "key-of-digits", "second-key-of-digits", "key-of-other"
DEADLINE_S = 15.0


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = DEADLINE_S) -> None:
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()  # never set: conditions here live in other processes
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        pause.wait(0.02)


@dataclass
class Upstream:
    """One stand-in replica in its own process."""

    name: str
    process: subprocess.Popen[str]
    http_port: int
    grpc_port: int

    def replica(self, *, draining: bool = False) -> RoutedReplica:
        return RoutedReplica(self.name, "127.0.0.1", self.http_port, self.grpc_port, draining)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@dataclass
class Gateway:
    """A running Envoy."""

    settings: GatewaySettings
    process: subprocess.Popen[bytes]
    admin: EnvoyAdmin
    xds: XdsFolder
    log: Path

    @property
    def plain(self) -> str:
        return f"http://127.0.0.1:{self.settings.plain_port}"

    @property
    def grpc_target(self) -> str:
        return f"127.0.0.1:{self.settings.plain_port}"

    @property
    def ca(self) -> str:
        return describe(self.settings)["ca_path"]

    def apply(self, *endpoints: RoutedEndpoint) -> str:
        snapshot = render(RoutingView(endpoints))
        keys = self.xds.write_keys(key_check(keys_of(snapshot)))
        apply(snapshot, self.xds, self.admin)
        keys_confirm(keys, self.admin)
        return snapshot.version

    def client(self, key: str | None = KEY) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        return httpx.Client(base_url=self.plain, headers=headers, trust_env=False, timeout=10)


def deployment(
    name: str, weight: int, *upstreams: Upstream, timeout_ms: int = 5000, retries: bool = True
) -> RoutedDeployment:
    replicas = tuple(sorted((up.replica() for up in upstreams), key=lambda item: item.replica_id))
    return RoutedDeployment(name, weight, 0, timeout_ms, retries, replicas)


def endpoint(name: str, *deployments: RoutedDeployment, keys: tuple[str, ...]) -> RoutedEndpoint:
    hashes = tuple(
        KeyHash(slot, hashlib.sha256(key.encode()).hexdigest())
        for slot, key in zip(("primary", "secondary"), keys, strict=False)
    )
    return RoutedEndpoint(name, 1, hashes, deployments)


def digits(*deployments: RoutedDeployment) -> RoutedEndpoint:
    return endpoint("digits", *deployments, keys=(KEY, SECOND_KEY))


@contextmanager
def kept(*ports: int) -> Iterator[None]:
    """Nobody else is given these ports before Envoy, which shares them (SO_REUSEPORT), has them."""
    with ExitStack() as held:
        for port in ports:
            one = held.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind(("127.0.0.1", port))  # without listening: nothing comes here
        yield


def start(settings: GatewaySettings) -> Gateway:
    with kept(settings.plain_port, settings.tls_port):
        return _started(settings)


def _started(settings: GatewaySettings) -> Gateway:
    log = settings.folder / "envoy.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            envoy_argv(settings), cwd=settings.folder, stdout=output, stderr=output
        )
    running = Gateway(
        settings,
        process,
        EnvoyAdmin(admin_socket(settings)),
        XdsFolder(settings.folder / XDS),
        log,
    )

    def listening() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            running.admin.warming()
            return httpx.get(running.plain, trust_env=False).status_code == 404
        except (EnvoyUnreachable, httpx.TransportError):
            return False

    wait_until(listening, "Envoy listens")
    return running


def stop(running: Gateway) -> None:
    running.admin.close()
    running.process.kill()
    running.process.wait(10)
