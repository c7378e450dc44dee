"""The checks of ``shoal doctor``, each a function from the installation to findings."""

import base64
import os
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx

from shoal import __version__
from shoal.cli.hints import as_commands
from shoal.client.client import Client
from shoal.client.discovery import Installation, find_installation
from shoal.client.errors import ShoalError
from shoal.client.transport import is_loopback
from shoal.display.units import byte_count, duration
from shoal.sdk.scoring import trust

TIMEOUT_S = 5.0
SKEW_S = 5.0
LEAST_FREE_BYTES = 5 << 30
RENEW_S = 14 * 86_400
NEEDED = ("files", "calls", "network")  # of a node's sandbox, what SHOAL_SANDBOX=require asks for

PARTS = ("beat", "worker", "gateway")  # of the system: they do what nobody asks for
PROXY = "Proxy before the studio"  # is there for who comes through one
HEADER = "Sign-in by header"
Status = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Finding:
    subject: str
    status: Status
    text: str
    remedy: str = ""

    def shown(self) -> dict[str, str]:
        return asdict(self)


def examine() -> list[Finding]:
    """Everything, in the order a call passes it; what cannot be looked at any more is left out."""
    try:
        installation = find_installation()
    except ShoalError as error:
        return [Finding("Installation", "failed", error.detail, " ".join(as_commands(error.hints)))]
    found = [Finding("Installation", "ok", f"{installation.url}, from {installation.source}")]
    with httpx.Client(
        base_url=installation.url, timeout=TIMEOUT_S, trust_env=not is_loopback(installation.url)
    ) as http:
        try:
            answer = http.get("/readyz")
        except httpx.TransportError as error:
            remedy = "Start it: `make up`. If it runs elsewhere: `shoal login --url URL`."
            return [*found, Finding("Studio", "failed", str(error), remedy)]
        found += _studio(answer)
    found += _clock(answer)
    found += _sockets(installation)
    with Client(installation=installation, timeout_s=TIMEOUT_S) as client:
        try:
            found += _account(client)
            found += _parts(client)
            found += _nodes(client)
        except ShoalError as error:
            found.append(
                Finding("Token", "failed", error.title, " ".join(as_commands(error.hints)))
            )
    return [*found, *_gateway(installation), *_disk(installation)]


def _studio(answer: httpx.Response) -> Iterator[Finding]:
    try:
        checks = answer.json()["checks"]
    except (ValueError, KeyError, TypeError):
        yield Finding("Studio", "failed", f"/readyz answered {answer.status_code}",
                      "Is this the studio's URL, not the gateway's?")  # fmt: skip
        return
    yield Finding("Studio", "ok", "answers")
    for name, text in checks.items():
        if name == "redis":
            yield _broker(text)
            continue
        remedy = ""
        if text.startswith("older"):
            remedy = "Start the installation anew, or `manage.py migrate` (and --database metrics)."
        elif text != "ok":
            remedy = "Is it running? `.shoal/logs` has its last lines."
        yield Finding(f"Database {name}", "ok" if text == "ok" else "failed", text, remedy)


def _broker(text: str) -> Finding:
    """Without it requests are answered, and what follows them is late."""
    if text == "ok":
        return Finding("Broker", "ok", text)
    remedy = "Is Redis running? `.shoal/logs` has its last lines. Jobs wait for it."
    return Finding("Broker", "warning", f"degraded: {text}", remedy)


def _clock(answer: httpx.Response) -> Iterator[Finding]:
    date = answer.headers.get("Date")
    if date:
        skew_s = abs(time.time() - parsedate_to_datetime(date).timestamp())
        # why: the header counts whole seconds
        good = skew_s <= SKEW_S + 1
        text = "agrees with the studio's" if good else f"is {duration(skew_s)} off the studio's"
        remedy = "" if good else "Let NTP set both clocks: tokens and certificates expire by them."
        yield Finding("Clock", "ok" if good else "warning", text, remedy)


def _sockets(installation: Installation) -> Iterator[Finding]:
    """A WebSocket handshake: proxies in between often let HTTP through and this not."""
    parts = urlsplit(installation.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    key = base64.b64encode(os.urandom(16)).decode()
    request = (
        f"GET /ws/v1 HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
        f"Origin: {installation.url}\r\nAuthorization: Bearer {installation.token}\r\n\r\n"
    )
    try:
        with socket.create_connection((str(parts.hostname), port), TIMEOUT_S) as plain:
            raw = plain
            if parts.scheme == "https":
                raw = ssl.create_default_context().wrap_socket(
                    plain, server_hostname=parts.hostname
                )
            raw.sendall(request.encode())
            status = raw.recv(64).split(b"\r\n")[0].decode("latin-1")
    except OSError as error:
        yield Finding("Live sockets", "failed", str(error), "Does a proxy in between close them?")
        return
    # 403 comes from the studio itself (a token is no session): the way there is free
    good = " 101 " in status or " 403 " in status
    remedy = "" if good else "Let the proxy in front of the studio pass Upgrade: websocket."
    yield Finding("Live sockets", "ok" if good else "warning", "open" if good else status, remedy)


def _account(client: Client) -> Iterator[Finding]:
    session = client.session()
    user = session.get("user") or {}
    if not session.get("authenticated", True):
        yield Finding("Token", "failed", "is not accepted", "`shoal login`, or set SHOAL_TOKEN.")
        return
    yield Finding("Token", "ok", f"{user.get('username', 'accepted')} ({user.get('role', '')})")
    same = session["version"] == __version__
    yield Finding(
        "Version",
        "ok" if same else "warning",
        session["version"] if same else f"studio {session['version']}, client {__version__}",
        "" if same else "Install the client of the same version.",
    )


def _parts(client: Client) -> Iterator[Finding]:
    """Clock, workers and gateways, as the page System sees them: by what they last did. And the
    proxy, by how this very question came."""
    status: dict[str, Status] = {"ok": "ok", "error": "failed"}
    for part in client.system_parts():
        if part["kind"] in PARTS or part["name"] in (PROXY, HEADER):
            subject = f"Gateway agent {part['name']}" if part["kind"] == "gateway" else part["name"]
            found = status.get(part["state"], "warning")
            yield Finding(subject, found, part["summary"], part["hint"])


def _nodes(client: Client) -> Iterator[Finding]:
    nodes = client.list_nodes()
    if not nodes:
        yield Finding(
            "Nodes", "failed", "none has joined", "`shoal node join`, or restart `make up`."
        )
    for node in nodes:
        alive = node["state"].lower() in ("online", "ready", "alive")
        text = node["state"] + (", cordoned" if node["cordoned"] else "")
        remedy = "" if alive else "Is its agent running, and does it reach the studio?"
        yield Finding(f"Node {node['name']}", "ok" if alive else "failed", text, remedy)
        missing = [name for name, holds in node["info"].get("sandbox", {}).items() if not holds]
        if any(name in missing for name in NEEDED):
            yield Finding(
                f"Node {node['name']}",
                "warning",
                f"no sandbox for {', '.join(missing)}",
                "Its kernel, or the container around it, offers none: docs/security.md.",
            )
        for condition in node.get("conditions", []):
            yield Finding(
                f"Node {node['name']}", "warning", condition["code"], condition["message"]
            )


def _gateway(installation: Installation) -> Iterator[Finding]:
    if not installation.gateway_url:
        return
    parts = urlsplit(installation.gateway_url)
    where = (str(parts.hostname), parts.port or 443)
    try:
        with (
            socket.create_connection(where, TIMEOUT_S) as plain,
            trust(_authority(installation)).wrap_socket(plain, server_hostname=where[0]) as secured,
        ):
            certificate = secured.getpeercert() or {}
    except ssl.SSLError as error:
        yield Finding("Gateway TLS", "failed", str(error),
                      f"Let SSL_CERT_FILE name {installation.ca_path}, "
                      "and REQUESTS_CA_BUNDLE for Python's requests.")  # fmt: skip
        return
    except OSError as error:
        yield Finding("Gateway", "failed", f"{installation.gateway_url}: {error}",
                      "Is Envoy running? `.shoal/logs` has its last lines.")  # fmt: skip
        return
    left_s = ssl.cert_time_to_seconds(str(certificate["notAfter"])) - time.time()
    good = left_s > RENEW_S
    yield Finding(
        "Gateway TLS",
        "ok" if good else "warning",
        f"{installation.gateway_url}, certificate good for {left_s / 86_400:.0f} days",
        "" if good else "Restart the installation: it renews the certificate.",
    )


def _authority(installation: Installation) -> str:
    file = Path(installation.ca_path)
    return file.read_text() if installation.ca_path and file.is_file() else ""


def _disk(installation: Installation) -> Iterator[Finding]:
    home = Path(installation.ca_path).parent.parent if installation.ca_path else None
    if home is None or not home.is_dir():
        return
    free = shutil.disk_usage(home).free
    good = free > LEAST_FREE_BYTES
    yield Finding(
        "Disk",
        "ok" if good else "warning",
        f"{byte_count(free)} free for {home}",
        "" if good else "Delete models that nothing uses, or move SHOAL_HOME to a larger disk.",
    )
