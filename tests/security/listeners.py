"""What listens, and where: nothing outside loopback, nothing of compose by accident."""

from collections.abc import Iterator

import psutil
import yaml

from tests.e2e.product import ROOT
from tests.security.ground import Ground
from tests.security.tries import Try, held

PART = "listeners"
SPEAK_TLS = ("envoy", "envoy-2", "studio-tls", "agents")  # and ask for a key, or a password


def tries(ground: Ground) -> Iterator[Try]:
    """Sockets of every process of the installation, replicas included."""
    assert ground.product.process is not None
    root = psutil.Process(ground.product.process.pid)
    found = set()
    for process in [root, *root.children(recursive=True), *_adopted(ground)]:
        for socket in process.net_connections("inet"):
            if socket.status == psutil.CONN_LISTEN or (socket.type == 2 and not socket.raddr):
                found.add((" ".join(process.cmdline()[1:4]), socket.laddr.ip, socket.laddr.port))
    assert found, "no listener was seen at all"
    wrong = [f"{name} on {ip}:{port}" for name, ip, port in sorted(found) if not _loopback(ip)]
    yield held(PART, f"make up binds loopback only ({len(found)} listeners)", wrong)

    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name, service in services.items():
        for port in service.get("ports", ()):
            open_ = not port.startswith("127.0.0.1:") and name not in SPEAK_TLS
            yield held(PART, f"compose: {name} publishes {port}", ["in clear"] if open_ else [])


def _loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def _adopted(ground: Ground) -> list[psutil.Process]:
    """Replicas live in sessions of their own and outlive their agent."""
    home = str(ground.product.home)
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(home in part for part in process.info["cmdline"] or ())
    ]
