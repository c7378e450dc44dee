"""What `shoal doctor` says of each thing that can be wrong: a table, over real sockets and TLS."""

import json
import shutil
import socket
import ssl
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from controlplane.gateway import tls
from shoal import __version__
from shoal.cli.main import main
from tests.support.quiet_handler import QuietHandler

Usage = namedtuple("Usage", "total used free")
SANDBOX = {"files": True, "calls": True, "network": True, "memory": False}
NODE = {"name": "one", "state": "Online", "cordoned": False, "info": {"sandbox": SANDBOX}}

BEAT = {"kind": "beat", "name": "Beat", "state": "ok", "summary": "last seen 3 s ago", "hint": ""}
WORKER = BEAT | {"kind": "worker", "name": "Worker of control", "summary": "last did a job 3 s ago"}
ENVOY = BEAT | {"kind": "gateway", "name": "local", "summary": "last reported 1 s ago"}
BROKER = BEAT | {"kind": "broker", "name": "Redis", "state": "warning"}  # /readyz tells of it


@dataclass
class Studio:
    """A studio of which single things can be broken."""

    checks: dict[str, str] = field(default_factory=lambda: {"default": "ok", "redis": "ok"})
    clock_off_s: float = 0.0
    upgrade: int = 101
    authenticated: bool = True
    version: str = __version__
    nodes: list[dict[str, Any]] = field(default_factory=lambda: [NODE])
    ready_body: str = ""
    parts: list[dict[str, Any]] = field(default_factory=lambda: [BEAT, WORKER, BROKER])

    def answer(self, path: str) -> tuple[int, str]:
        if path == "/readyz":
            return 200, self.ready_body or json.dumps({"status": "ok", "checks": self.checks})
        if path.startswith("/api/v1/session"):
            user = {"username": "ada", "role": "admin"}
            shown = {"authenticated": self.authenticated, "user": user, "version": self.version}
            return 200, json.dumps(shown)
        if path.startswith("/api/v1/system"):
            return 200, json.dumps({"parts": self.parts})
        if path.startswith("/api/v1/nodes"):
            return 200, json.dumps({"items": self.nodes, "next_cursor": None})
        return 404, "{}"


def handler_of(studio: Studio) -> type[BaseHTTPRequestHandler]:
    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.headers.get("Upgrade"):
                self.send_response(studio.upgrade)
                self.end_headers()
                self.close_connection = True
                return
            status, body = studio.answer(self.path)
            self.send_response_only(status)
            self.send_header("Date", formatdate(time.time() + studio.clock_off_s, usegmt=True))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    return Handler


class Gateway:
    """Accepts TLS connections with a certificate of our own authority."""

    def __init__(self, folder: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "gateway.pem", folder / "gateway.key")
        self.listener = context.wrap_socket(
            socket.create_server(("127.0.0.1", 0)), server_side=True
        )
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                self.listener.accept()[0].close()
            except ssl.SSLError:
                continue  # a client that does not trust us
            except OSError:
                return


@dataclass
class Place:
    """An installation's folder, its studio and its gateway."""

    home: Path
    studio: Studio
    gateway: Gateway
    monkeypatch: pytest.MonkeyPatch
    web: ThreadingHTTPServer

    def described(self, **changes: Any) -> None:
        body = {
            "url": f"http://127.0.0.1:{self.web.server_address[1]}",
            "token": "t",
            "gateway_url": self.gateway.url,
            "ca_path": str(self.home / "tls" / "ca.pem"),
        }
        (self.home / "client.json").write_text(json.dumps(body | changes))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    tls.ensure(tmp_path / "tls")
    studio = Studio()
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(studio))
    threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
    gateway = Gateway(tmp_path / "tls")
    for name in ("SHOAL_URL", "SHOAL_TOKEN", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 0, 1 << 40))
    found = Place(tmp_path, studio, gateway, monkeypatch, web)
    found.described()
    yield found
    web.shutdown()
    web.server_close()
    found.gateway.close()


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, str]]]:
    code = main(["doctor", "-o", "json"])
    rows = json.loads(capsys.readouterr().out)
    return code, {row["subject"]: row for row in rows}


def test_all_is_well(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(capsys)
    assert {row["status"] for row in found.values()} == {"ok"}, found
    assert code == 0
    assert set(found) == {
        "Installation", "Studio", "Broker", "Database default", "Clock", "Live sockets", "Token",
        "Version", "Beat", "Worker of control", "Node one", "Gateway TLS", "Disk",
    }  # fmt: skip
    assert main(["doctor"]) == 0
    assert "✓ Broker: ok" in capsys.readouterr().out


def broker_down(place: Place) -> None:
    place.studio.checks["redis"] = "ConnectionError"


def old_schema(place: Place) -> None:
    place.studio.checks["default"] = "older than this program, `migrate` is due: operations.0002"


def beat_late(place: Place) -> None:
    late = {"state": "warning", "summary": "last seen 47 s ago", "hint": "Beat has stopped"}
    place.studio.parts = [BEAT | late, WORKER]


def beat_dead(place: Place) -> None:
    dead = {"state": "error", "summary": "last seen 2 min ago", "hint": "Beat has stopped"}
    place.studio.parts = [BEAT | dead, WORKER]


def worker_dead(place: Place) -> None:
    dead = {"state": "error", "summary": "last did a job 2 min ago", "hint": "Is it running?"}
    place.studio.parts = [BEAT, WORKER | dead]


def gateway_silent(place: Place) -> None:
    silent = {"state": "error", "summary": "last reported 2 min ago", "hint": "no changes"}
    place.studio.parts = [BEAT, WORKER, ENVOY | silent]


def proxy_unknown(place: Place) -> None:
    odd = {"kind": "web", "name": "Proxy before the studio", "state": "warning", "hint": "name it"}
    place.studio.parts = [BEAT, WORKER, BEAT | odd | {"summary": "is not believed"}]


def worker_new(place: Place) -> None:
    new = {"state": "unknown", "summary": "has not done a job yet", "hint": "within ten seconds"}
    place.studio.parts = [BEAT, WORKER | new]


def clock_wrong(place: Place) -> None:
    place.studio.clock_off_s = 90


def sockets_blocked(place: Place) -> None:
    place.studio.upgrade = 400


def token_refused(place: Place) -> None:
    place.studio.authenticated = False


def other_version(place: Place) -> None:
    place.studio.version = "9.9"


def no_node(place: Place) -> None:
    place.studio.nodes = []


def node_gone(place: Place) -> None:
    place.studio.nodes = [NODE | {"state": "Offline"}]


def node_with_a_bad_disk(place: Place) -> None:
    odd = {"code": "CacheSpoiled", "message": "Look at the disk"}
    place.studio.nodes = [NODE | {"conditions": [odd]}]


def no_studio(place: Place) -> None:
    place.web.shutdown()
    place.web.server_close()


def another_page(place: Place) -> None:
    place.studio.ready_body = "<html>nginx</html>"


def gateway_gone(place: Place) -> None:
    place.gateway.close()


def another_authority(place: Place) -> None:
    tls.ensure(place.home / "elsewhere")
    place.described(ca_path=str(place.home / "elsewhere" / "ca.pem"))


def certificate_ends(place: Place) -> None:
    """Issued so long ago that it has five days left."""
    place.gateway.close()
    issued = datetime.now(UTC) - tls.CERTIFICATE_LIFE + timedelta(days=5)
    tls.ensure(place.home / "old", now=issued)
    place.gateway = Gateway(place.home / "old")
    place.described(ca_path=str(place.home / "old" / "ca.pem"))


def disk_full(place: Place) -> None:
    place.monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 1 << 40, 1 << 20))


def no_installation(place: Place) -> None:
    (place.home / "client.json").unlink()


@pytest.mark.parametrize(
    ("broken", "subject", "status", "remedy"),
    [
        (no_installation, "Installation", "failed", "make up"),
        (no_studio, "Studio", "failed", "make up"),
        (another_page, "Studio", "failed", "not the gateway's"),
        (broker_down, "Broker", "warning", "logs"),
        (old_schema, "Database default", "failed", "migrate"),
        (beat_late, "Beat", "warning", "Beat has stopped"),
        (beat_dead, "Beat", "failed", "Beat has stopped"),
        (worker_dead, "Worker of control", "failed", "Is it running?"),
        (worker_new, "Worker of control", "warning", "within ten seconds"),
        (gateway_silent, "Gateway agent local", "failed", "no changes"),
        (proxy_unknown, "Proxy before the studio", "warning", "name it"),
        (clock_wrong, "Clock", "warning", "NTP"),
        (sockets_blocked, "Live sockets", "warning", "Upgrade: websocket"),
        (token_refused, "Token", "failed", "shoal login"),
        (other_version, "Version", "warning", "same version"),
        (no_node, "Nodes", "failed", "shoal node join"),
        (node_gone, "Node one", "failed", "agent"),
        (node_with_a_bad_disk, "Node one", "warning", "Look at the disk"),
        (gateway_gone, "Gateway", "failed", "Envoy"),
        (another_authority, "Gateway TLS", "failed", "SSL_CERT_FILE"),
        (certificate_ends, "Gateway TLS", "warning", "renews"),
        (disk_full, "Disk", "warning", "SHOAL_HOME"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_is_wrong_is_named_with_its_remedy(
    place: Place,
    capsys: pytest.CaptureFixture[str],
    broken: Callable[[Place], None],
    subject: str,
    status: str,
    remedy: str,
) -> None:
    broken(place)
    code, found = doctor(capsys)
    assert found[subject]["status"] == status, found
    assert remedy in found[subject]["remedy"]
    others = {row["status"] for name, row in found.items() if name != subject}
    assert others <= {"ok"}, found
    assert code == (1 if status == "failed" else 0)
