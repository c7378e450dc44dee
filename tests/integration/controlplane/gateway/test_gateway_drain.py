"""Envoy is ended under load by what starts it in containers, and loses nothing that it had."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from gateway_harness import KEY, Gateway, Upstream, deployment, digits, wait_until

from controlplane.gateway.admin import EnvoyAdmin, EnvoyUnreachable
from controlplane.gateway.bootstrap import XDS, admin_socket
from controlplane.gateway.xds import XdsFolder
from tests.support.gateway_folder import settings_in

ROOT = Path(__file__).parents[4]
CALLERS = 8
PATH = "/endpoints/digits/v2/models/sleep/infer"


@pytest.fixture
def contained(tmp_path: Path) -> Iterator[Gateway]:
    """As in a container: ``deploy/run_envoy.py`` is who gets the signals."""
    settings = settings_in(tmp_path, concurrency=2)
    log = tmp_path / "envoy.log"
    environment = os.environ | {
        "SHOAL_HOME": str(tmp_path), "SHOAL_TLS_DIR": str(settings.tls_dir),
        "SHOAL_GATEWAY_TLS_PORT": "0", "SHOAL_GATEWAY_PORT": "0",
        "SHOAL_GATEWAY_CONCURRENCY": "2",
    }  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "deploy/run_envoy.py"],
            cwd=ROOT, env=environment, stdout=output, stderr=output,
        )  # fmt: skip
    admin = EnvoyAdmin(admin_socket(settings))

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            admin.warming()
            return httpx.get(f"http://127.0.0.1:{port()}", trust_env=False).status_code == 404
        except (EnvoyUnreachable, httpx.TransportError):
            return False

    def port() -> int:
        written = json.loads((settings.folder / XDS / "lds.json").read_text())
        (found,) = (
            listener["address"]["socket_address"]["port_value"]
            for listener in written["resources"]
            if listener["name"] == "plain"
        )
        return int(found)

    wait_until(answers, "Envoy listens")
    settings = replace(settings, plain_port=port())
    yield Gateway(settings, process, admin, XdsFolder(settings.folder / XDS), log)
    admin.close()
    process.terminate()
    process.terminate()
    process.wait(30)


class Caller(threading.Thread):
    """Asks over one connection for as long as it is kept, then over the next, until refused."""

    def __init__(self, port: int, sleep_ms: int) -> None:
        super().__init__()
        self.port, self.sleep_ms = port, sleep_ms
        self.answers: list[int] = []
        self.lost: list[str] = []
        self.sent = threading.Event()

    def run(self) -> None:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                connection.connect()
            except ConnectionRefusedError:
                return
            self._ask_while_kept(connection)
            connection.close()
            if self.lost:
                return

    def _ask_while_kept(self, connection: http.client.HTTPConnection) -> None:
        headers = {"Authorization": f"Bearer {KEY}", "x-sleep-ms": str(self.sleep_ms)}
        while True:
            try:
                connection.request("POST", PATH, b"{}", headers)
                self.sent.set()
                with connection.getresponse() as answer:
                    answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                return
            self.answers.append(answer.status)
            if answer.will_close:
                return


def taken(gateway: Gateway) -> int:
    """Connections of clients that Envoy's threads have taken from the kernel."""
    transport = httpx.HTTPTransport(uds=str(admin_socket(gateway.settings)))
    names = {"format": "json", "filter": r"^http\..*\.downstream_cx_active$"}
    with httpx.Client(transport=transport, base_url="http://envoy") as admin:
        stats = admin.get("/stats", params=names).json()["stats"]
    return sum(item["value"] for item in stats if not item["name"].startswith("http.admin."))


def test_a_gateway_that_is_stopped_answers_what_it_was_sent(
    contained: Gateway, upstreams: Callable[[str], Upstream]
) -> None:
    contained.apply(digits(deployment("blue", 100, upstreams("a"))))
    port = contained.settings.plain_port
    callers = [Caller(port, 20) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    wait_until(lambda: all(len(caller.answers) > 3 for caller in callers), "all are served")
    slow = Caller(port, 1500)  # much longer than it takes the signal to arrive
    slow.start()
    assert slow.sent.wait(20)
    # why: what no thread of Envoy has taken from the kernel yet, nobody was given to answer
    wait_until(
        lambda: taken(contained) > CALLERS or [one for one in callers if one.lost],
        "Envoy has all connections",
    )
    assert [one.lost for one in callers if one.lost] == [], "lost before anybody stopped it"
    contained.process.send_signal(signal.SIGTERM)
    assert contained.process.wait(30) == 0
    for caller in (slow, *callers):
        caller.join(20)
        assert caller.lost == []
        assert set(caller.answers) == {200}
    assert len(slow.answers) == 1
