"""Ends Envoy's work before Envoy ends: nothing new comes in, and what is open is answered.

On SIGTERM alone Envoy drops every request that it holds.
"""

import http.client
import json
import socket
import time
from pathlib import Path

POLL_S = 0.05
ANSWER_S = 3.0
CLOSING_S = 5.0  # a busy machine gives the turn to all of Envoy's threads within it
# For how long no request must be open where connections stay: those are idle, and their clients'.
QUIET_S = 0.5
OPEN = r"^http\..*\.downstream_(cx|rq)_active$"
LISTENERS = r"^listener_manager\.(listener_stopped|total_listeners_active)$"


class _Admin(http.client.HTTPConnection):
    """Envoy's admin interface, over its socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("envoy", timeout=ANSWER_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def ask(self, method: str, path: str) -> bytes:
        """Raises OSError, HTTPException."""
        self.request(method, path)
        with self.getresponse() as answer:
            body = answer.read()
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"{method} {path}: {answer.status} {answer.reason}")
        return body


def drain(admin: Path, bound_s: float) -> None:
    """Returns once Envoy may be ended: what it held is answered, or ``bound_s`` are over.

    Also returns where Envoy does not answer: nothing is to be saved then.
    """
    deadline = time.monotonic() + bound_s
    connection = _Admin(admin)
    try:
        # why in this order: answers say `Connection: close` (GOAWAY) from the second step on, and
        # clients that came back before the first would be among those that a closed listener resets
        connection.ask("POST", "/drain_listeners")
        _wait_closed(connection, min(deadline, time.monotonic() + CLOSING_S))
        connection.ask("POST", "/healthcheck/fail")
        _wait(connection, deadline)
    except (OSError, http.client.HTTPException):
        return
    finally:
        connection.close()


def _wait_closed(connection: _Admin, deadline: float) -> None:
    """Envoy counts a listener as stopped once the last of its threads has, and closes it then."""
    while time.monotonic() < deadline:
        counts = _counted(connection, LISTENERS)
        stopped = counts["listener_manager.listener_stopped"]
        if stopped >= counts["listener_manager.total_listeners_active"]:
            return
        time.sleep(POLL_S)


def _wait(connection: _Admin, deadline: float) -> None:
    quiet_since = time.monotonic()
    while (now := time.monotonic()) < deadline:
        connections, requests = _open(connection)
        if requests:
            quiet_since = now
        if not connections or now - quiet_since >= QUIET_S:
            return
        time.sleep(POLL_S)


def _open(connection: _Admin) -> tuple[int, int]:
    """Connections and requests of clients."""
    counts = {"cx": 0, "rq": 0}
    for name, value in _counted(connection, OPEN).items():
        if not name.startswith("http.admin."):
            counts[name.rpartition("downstream_")[2][:2]] += value
    return counts["cx"], counts["rq"]


def _counted(connection: _Admin, names: str) -> dict[str, int]:
    stats = json.loads(connection.ask("GET", f"/stats?format=json&filter={names}"))["stats"]
    return {item["name"]: item["value"] for item in stats}
