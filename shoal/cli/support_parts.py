"""The parts of a support bundle: asked of the control plane, if it answers, and of this machine."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import httpx
import psutil

from shoal import __version__
from shoal.cli.checks import examine
from shoal.cli.scrubbing import Scrubber
from shoal.client.administration import quoted
from shoal.client.discovery import Installation, find_installation
from shoal.client.errors import InstallationNotFound, ShoalError
from shoal.client.transport import is_loopback
from shoal.local.home import SECRETS, tail

TIMEOUT_S: Final = 20.0
FACTS_S = 60.0  # this machine's own, for which a database is asked
LOG_LINES, LOG_BYTES = 1000, 512 * 1024
EVENTS, OPERATIONS = 500, 200
LOGGED, REPLICA_LINES = 50, 200  # deployments, and lines of each
# Of what REST shows: what says how something does, and nothing that people fill in freely.
FIELDS: Final = {
    "nodes": ("id", "name", "state", "rule", "conditions", "cordoned", "drain", "info",
              "last_seen_at", "certificate_ends_at", "age_s", "replicas"),
    "endpoints": ("name", "project", "auth_mode", "provisioning_state", "serving_state", "traffic",
                  "mirror_traffic", "routed", "unconfirmed", "left_out", "models", "created_at",
                  "updated_at", "deployments"),
    "deployments": ("name", "model", "version", "config_revision", "instance_count",
                    "instance_type", "provisioning_state", "serving_state", "traffic", "error",
                    "revision", "paused", "replicas", "request_timeout_ms",
                    "max_concurrent_requests_per_instance", "max_queue_wait_ms", "updated_at",
                    "operation"),
    "operations": ("id", "kind", "project", "endpoint", "deployment", "state", "stages", "percent",
                   "error", "warnings", "deadline_at", "created_at", "finished_at"),
    "events": ("seq", "at", "verb", "subject", "severity", "message"),
}  # fmt: skip
PROGRAMS: Final = ("controlplane", "worker_runtime", "node_agent", "shoal.local", "load_client",
                   "celery", "uvicorn", "envoy", "redis-server", "postgres")  # fmt: skip


class NotAllowed(ShoalError):
    """Who asks is no administrator."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str  # its file in the bundle
    what: str  # for people
    content: str


@dataclass(frozen=True, slots=True)
class Missing:
    name: str
    why: str


Found = Iterator[Part | Missing]


def parts(home: Path, environment: Mapping[str, str]) -> Found:
    """All that can be had, without secrets. Raises NotAllowed before anything is given."""
    try:
        installation = find_installation(environment)
    except InstallationNotFound:
        installation = None
    scrub = Scrubber(known_secrets(home, environment, installation))
    server = _Server(installation, scrub)
    server.admit(home)
    client = {"shoal": __version__, "python": sys.version, "platform": platform.platform(),
              "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}  # fmt: skip
    yield _json("client.json", "this command and its machine", client, scrub)
    findings = [finding.shown() for finding in examine()]
    yield _json("doctor.json", "what `shoal doctor` says", findings, scrub)
    yield from server.parts()
    if server.reason:
        yield local_facts(home, environment, scrub)
    yield _json("processes.json", "Shoal's processes on this machine", list(_processes()), scrub)
    yield from _logs(home, scrub)


class _Server:
    def __init__(self, installation: Installation | None, scrub: Scrubber) -> None:
        self._scrub = scrub
        self.reason = "" if installation else "nothing here says where the control plane is"
        url = installation.url if installation else "http://127.0.0.1"
        token = installation.token if installation else ""
        self._http = httpx.Client(
            base_url=f"{url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            trust_env=not is_loopback(url),
        )
        self._facts: Any = None

    def admit(self, home: Path) -> None:
        """Raises NotAllowed. While nobody answers, the data folder is what says who may."""
        if not self.reason:
            try:
                answer = self._http.get("/system/support")
            except httpx.TransportError as error:
                self.reason = f"the control plane does not answer: {error}"
            else:
                if answer.status_code in (401, 403):
                    raise NotAllowed(
                        "Only administrators may make a support bundle",
                        f"The control plane answered {answer.status_code}.",
                        ("Sign in as one: shoal login.",),
                    )
                try:
                    self._facts = answer.raise_for_status().json()
                except httpx.HTTPStatusError:
                    self.reason = f"the control plane answered {answer.status_code}"
                except ValueError:  # a proxy's page, for example
                    self.reason = f"what answers at {answer.url.host} is no control plane"
        secrets = home / "secrets"
        if self.reason and not os.access(secrets, os.R_OK | os.X_OK):
            raise NotAllowed(
                "Only administrators may make a support bundle",
                f"{self.reason}, and {secrets} cannot be read, which would show that you are one.",
                ("Run it as the user of the installation, with its SHOAL_HOME.",),
            )

    def parts(self) -> Found:
        """What REST tells; each by itself, since a control plane that ails answers some."""
        if self.reason:
            yield Missing("server/", self._scrub.text(self.reason))
            return
        what = "versions, settings without secrets, tables, migrations"
        yield _json("server/facts.json", what, self._facts, self._scrub)
        asked: list[tuple[str, str, Callable[[], str]]] = [
            ("server/system.json", "how each part does", lambda: self._json("/system")),
            ("server/nodes.json", "nodes", lambda: self._rows("nodes")),
            ("server/endpoints.json", "endpoints and deployments", self._endpoints),
            ("server/operations.json", "the last operations",
             lambda: self._rows("operations", OPERATIONS)),
            ("server/events.json", "the last events", lambda: self._rows("events", EVENTS)),
            ("server/gateways.json", "gateways", lambda: self._json("/gateways")),
            ("server/metrics.txt", "the page that Prometheus scrapes", self._metrics),
            ("server/packages.json", "Python packages", lambda: self._json("/system/sbom")),
        ]  # fmt: skip
        for name, what, ask in asked:
            try:
                yield Part(name, what, ask())
            except (httpx.HTTPError, ValueError, KeyError) as error:
                yield Missing(name, self._scrub.text(f"{type(error).__name__}: {error}"))
        yield from self._replica_logs()

    def _replica_logs(self) -> Found:
        try:
            rows = self._all("endpoints", 1000)
        except httpx.HTTPError:
            return  # which was said of the endpoints themselves
        pairs = [(row["name"], one["name"]) for row in rows for one in row["deployments"]]
        for endpoint, deployment in pairs[:LOGGED]:
            name = f"server/logs/{endpoint}.{deployment}.txt"
            path = f"/endpoints/{quoted(endpoint)}/deployments/{quoted(deployment)}/logs"
            try:
                lines = self._get(path, tail=REPLICA_LINES).json()["lines"]
            except httpx.HTTPError as error:
                yield Missing(name, self._scrub.text(str(error)))
                continue
            text = "".join(f"{one['at']} {one['replica_id']} {one['text']}\n" for one in lines)
            what = f"the last lines of the replicas of {endpoint}/{deployment}"
            yield Part(name, what, self._scrub.text(text))
        if len(pairs) > LOGGED:
            yield Missing("server/logs/", f"of {len(pairs) - LOGGED} more deployments")

    def _get(self, path: str, **params: Any) -> httpx.Response:
        answer = self._http.get(path, params=params)
        answer.raise_for_status()
        return answer

    def _json(self, path: str) -> str:
        return _shown(self._get(path).json(), self._scrub)

    def _metrics(self) -> str:
        return self._scrub.text(self._get("/metrics").text)

    def _all(self, kind: str, most: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {"limit": min(most, 100)}
        while len(found) < most:
            page = self._get(f"/{kind}", **params).json()
            found += page["items"]
            params["cursor"] = page["next_cursor"]
            if not params["cursor"]:
                break
        return [_picked(kind, row) for row in found[:most]]

    def _rows(self, kind: str, most: int = 1000) -> str:
        return _shown(self._all(kind, most), self._scrub)

    def _endpoints(self) -> str:
        rows = self._all("endpoints", 1000)
        for row in rows:
            row["deployments"] = [_picked("deployments", one) for one in row.get("deployments", ())]
        return _shown(rows, self._scrub)


def _picked(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in FIELDS[kind] if name in row}


def _shown(value: Any, scrub: Scrubber) -> str:
    return json.dumps(scrub.value(value), indent=1) + "\n"


def _json(name: str, what: str, value: Any, scrub: Scrubber) -> Part:
    return Part(name, what, _shown(value, scrub))


def known_secrets(
    home: Path, environment: Mapping[str, str], installation: Installation | None
) -> Iterator[str]:
    """Those that lie open to this command."""
    if installation is not None:
        yield installation.token
    files = [home / "secrets" / name for name in SECRETS]
    for name, value in environment.items():
        if any(word in name for word in ("PASSWORD", "SECRET", "TOKEN", "KEY", "WEBHOOK")):
            if name.endswith("_FILE"):
                files.append(Path(value))
            else:
                yield value
        if "://" in value:
            yield from _passwords(value.partition("://")[2])
    for file in files:
        try:
            yield file.read_text() if file.is_file() else ""
        except (OSError, UnicodeDecodeError):
            continue  # not for us, or no text: then no log that we may read has it either


def _passwords(address: str) -> Iterator[str]:
    """As it is written and as it is meant; one with an @ that nobody quoted, too."""
    for who in (address.partition("@")[0], address.rpartition("@")[0]):
        password = who.partition(":")[2]
        if len(who) < len(address):
            yield from (password, unquote(password))


def local_facts(home: Path, environment: Mapping[str, str], scrub: Scrubber) -> Part | Missing:
    name = "local/facts.json"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "django", "support_facts"],
            env={**environment, "SHOAL_HOME": str(home),
                 "DJANGO_SETTINGS_MODULE": "controlplane.config.settings"},
            capture_output=True, text=True, check=False, timeout=FACTS_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Missing(name, f"no answer within {FACTS_S:g} s")
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return Missing(name, scrub.text(said[-1] if said else "the program for it ended"))
    what = "versions, settings without secrets, tables, migrations, as this machine sees them"
    return _json(name, what, json.loads(done.stdout), scrub)


def _processes() -> Iterator[dict[str, Any]]:
    """Without their command lines: people put passwords there."""
    asked = ["pid", "ppid", "cmdline", "create_time", "memory_info", "num_threads", "status"]
    for process in psutil.process_iter(asked):
        info = process.info
        words = " ".join(info["cmdline"] or ())
        programs = [name for name in PROGRAMS if name in words]
        if programs:
            yield {
                "pid": info["pid"],
                "parent": info["ppid"],
                "program": programs[0],
                "state": info["status"],
                "started_at": info["create_time"],
                "memory_bytes": info["memory_info"].rss if info["memory_info"] else None,
                "threads": info["num_threads"],
            }


def _logs(home: Path, scrub: Scrubber) -> Found:
    folder = home / "logs"
    files = sorted(folder.glob("*.log")) if folder.is_dir() else []
    if not files:
        yield Missing("logs/", f"{folder} has none: they are where your programs' output goes")
    for path in files:
        try:
            text = tail(path, LOG_LINES, most_bytes=LOG_BYTES)
        except OSError as error:
            yield Missing(f"logs/{path.name}", str(error))
            continue
        yield Part(f"logs/{path.name}", f"the last lines of {path.name}", scrub.text(text) + "\n")
