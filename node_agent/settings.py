"""What the agent takes from the environment; no other module of it reads that."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from node_agent import inherited
from node_agent.bandwidth import parse_rate
from node_agent.memory_pressure import LIMIT, WINDOW_S, MemoryPressureRule
from node_agent.sandbox import (
    ALL,
    AUTO,
    LOOPBACK,
    NONE,
    OFF,
    REQUIRE,
    SandboxSettings,
)
from node_agent.signed import SignedOnly, keys_in
from wire.addresses import collector_url, host_address
from wire.secret_files import EmptySecret, secret

ON = "on"
DEFAULT_URL = "http://127.0.0.1:8080"
HERE = "127.0.0.1"
RECHECK_INTERVAL_S = 24 * 3600  # bytes rot without anybody writing
RECHECK_RATE = "32MiB"
PROCESSES = 4096  # of one replica, threads among them
LONGEST_LABEL = 255  # characters, as the control plane takes them
DISK_BYTES = 50 << 30  # a packed environment of Python is unpacked by each replica


class SettingsError(ValueError):
    """A value that cannot be used; the text names the variable and what is expected."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`address` is where gateways reach this node's replicas, `bind` where those listen."""

    control_url: str
    control_authority: Path | None  # PEM of who may answer there; None: as the join token says
    home: Path
    node_name: str
    labels: dict[str, str]  # placement goes by them; what people set in the studio wins
    join_token: str  # empty when there is none
    address: str
    bind: str
    cache_quota_bytes: int  # 0: only the disk limits it
    download_rate: int  # bytes per second of all downloads together; 0: no limit
    recheck_interval_s: int  # between two hashings of the whole cache; 0: never
    recheck_rate: int  # bytes per second that it reads; 0: no limit
    memory_pressure: MemoryPressureRule
    signed_only: SignedOnly | None  # None: it runs what the control plane says
    inherited: dict[str, str]  # what replicas may see of the environment
    sandbox: SandboxSettings
    fork_server: bool  # runtimes are forked from a process that has imported them
    traces_url: str  # where spans of replicas are sent by OTLP; empty: they make none

    @property
    def folder(self) -> Path:
        return self.home / "node"


def load() -> AgentSettings:
    """Read the environment. Raises SettingsError, OSError for an unreadable token file."""
    control_url = os.environ.get("SHOAL_CONTROL_URL") or os.environ.get(
        "SHOAL_PUBLIC_URL", DEFAULT_URL
    )
    home = Path(os.environ.get("SHOAL_HOME", ".shoal")).expanduser().resolve()
    address = _address(os.environ.get("SHOAL_NODE_ADDRESS") or AUTO, control_url)
    return AgentSettings(
        control_url=control_url.rstrip("/"),
        control_authority=_path("SHOAL_CONTROL_CA_FILE"),
        home=home,
        node_name=os.environ.get("SHOAL_NODE_NAME") or socket.gethostname() or "local",
        labels=_labels("SHOAL_NODE_LABELS"),
        join_token=_join_token(home),
        address=address,
        bind=HERE if address.startswith("127.") else "0.0.0.0",  # noqa: S104 - gateways elsewhere
        cache_quota_bytes=_bytes("SHOAL_NODE_CACHE_BYTES"),
        download_rate=_rate("SHOAL_NODE_DOWNLOAD_LIMIT", "0"),
        recheck_interval_s=_whole("SHOAL_NODE_RECHECK_INTERVAL_S", RECHECK_INTERVAL_S),
        recheck_rate=_rate("SHOAL_NODE_RECHECK_LIMIT", RECHECK_RATE),
        memory_pressure=MemoryPressureRule(
            limit=_whole("SHOAL_GPU_OOM_LIMIT", LIMIT),
            window_s=_whole("SHOAL_GPU_OOM_WINDOW_S", int(WINDOW_S), least=1),
        ),
        signed_only=_signed_only(),
        inherited=inherited.passed_on(os.environ, _names(inherited.SETTING)),
        sandbox=_sandbox(),
        fork_server=_one_of("SHOAL_NODE_FORK_SERVER", (ON, OFF)) == ON,
        traces_url=_traces_url(),
    )


def _sandbox() -> SandboxSettings:
    read = os.environ.get("SHOAL_SANDBOX_READ", "")
    return SandboxSettings(
        mode=_one_of("SHOAL_SANDBOX", (AUTO, REQUIRE, OFF)),
        network=_one_of("SHOAL_SANDBOX_NETWORK", (ALL, LOOPBACK, NONE)),
        read=tuple(_absolute("SHOAL_SANDBOX_READ", path) for path in read.split(":") if path),
        users=_users("SHOAL_SANDBOX_USERS", "1900000000-1900065535"),
        cgroup=os.environ.get("SHOAL_SANDBOX_CGROUP", ""),
        memory_bytes=_bytes("SHOAL_SANDBOX_MEMORY_BYTES"),
        cpus=_number("SHOAL_SANDBOX_CPUS"),
        processes=_whole("SHOAL_SANDBOX_PROCESSES", PROCESSES),
        disk_bytes=_whole("SHOAL_SANDBOX_DISK_BYTES", DISK_BYTES),
    )


def _one_of(name: str, choices: tuple[str, ...]) -> str:
    """The first choice where nothing is said."""
    text = os.environ.get(name) or choices[0]
    if text not in choices:
        raise SettingsError(f"{name}={text!r}: expected one of {', '.join(choices)}")
    return text


def _absolute(name: str, path: str) -> str:
    if not Path(path).is_absolute() or Path(path) == Path("/"):
        raise SettingsError(f"{name}: {path!r}: expected absolute paths, separated by colons")
    return path


def _users(name: str, default: str) -> range:
    text = os.environ.get(name, default)
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last) < 2**32 - 1):
        raise SettingsError(f"{name}={text!r}: expected two user ids, FIRST-LAST, none of them 0")
    return range(int(first), int(last) + 1)


def _number(name: str) -> float:
    text = os.environ.get(name, "0")
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e6:  # not a number is not in between, either
        raise SettingsError(f"{name}={text!r}: expected a number, at least 0")
    return found


def _path(name: str) -> Path | None:
    return Path(os.environ[name]).expanduser() if os.environ.get(name) else None


def _join_token(home: Path) -> str:
    try:
        return secret(os.environ, "SHOAL_JOIN_TOKEN", home / "node" / "join-token") or ""
    except EmptySecret as error:
        raise SettingsError(str(error)) from error


def _signed_only() -> SignedOnly | None:
    file = os.environ.get("SHOAL_NODE_TRUSTED_KEYS", "")
    variables = _names("SHOAL_NODE_TRUSTED_VARIABLES")
    if not file:
        if variables:
            raise SettingsError(
                "SHOAL_NODE_TRUSTED_VARIABLES is set without SHOAL_NODE_TRUSTED_KEYS: expected both"
            )
        return None
    try:
        return SignedOnly(keys_in(Path(file)), frozenset(variables))
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"SHOAL_NODE_TRUSTED_KEYS={file!r}: {error}; expected a file with public keys of "
            "minisign, one below the other"
        ) from error


def _address(text: str, control_url: str) -> str:
    """`auto` is the address from which this machine reaches the control plane: loopback where both
    are one machine. A name is looked up once, here: gateways take addresses only.
    Raises SettingsError where there is no route to the control plane, and for no address."""
    if text != AUTO:
        return _looked_up(text)
    parts = urlsplit(control_url)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # A datagram socket only looks up the route; nothing is sent.
            probe.connect((parts.hostname or HERE, parts.port or 80))
            return str(probe.getsockname()[0])
    except OSError as error:
        raise SettingsError(
            f"SHOAL_NODE_ADDRESS=auto: no route to {control_url}: {error}. "
            "Set it to the address at which gateways reach this machine."
        ) from error


def _looked_up(text: str) -> str:
    try:
        # the first that the system would try itself, by its own preference among families
        family = socket.getaddrinfo(text, None, type=socket.SOCK_STREAM)
        return host_address(str(family[0][4][0]))
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"SHOAL_NODE_ADDRESS={text!r}: expected auto, an IP address of this machine, or a name "
            f"that leads to one: {error}"
        ) from error


def _traces_url() -> str:
    name = "SHOAL_NODE_TRACES_URL"
    try:
        return collector_url(name, os.environ.get(name, ""))
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _whole(name: str, default: int, *, least: int = 0) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise SettingsError(f"{name}={text!r}: expected a whole number, at least {least}")
    return int(text)


def _names(setting: str) -> tuple[str, ...]:
    try:
        return inherited.names(os.environ.get(setting, ""))
    except ValueError as error:
        raise SettingsError(f"{setting}: {error}") from error


def _labels(setting: str) -> dict[str, str]:
    found = {}
    for part in filter(None, map(str.strip, os.environ.get(setting, "").split(","))):
        name, separator, value = (text.strip() for text in part.partition("="))
        if not separator or not 0 < len(name) <= LONGEST_LABEL or len(value) > LONGEST_LABEL:
            raise SettingsError(
                f"{setting}: {part!r}: expected NAME=VALUE, separated by commas, each of at most "
                f"{LONGEST_LABEL} characters"
            )
        found[name] = value
    return found


def _bytes(name: str) -> int:
    text = os.environ.get(name, "0")
    if not text.isdecimal():
        raise SettingsError(f"{name}={text!r}: expected a number of bytes, or 0 for no limit")
    return int(text)


def _rate(name: str, default: str) -> int:
    text = os.environ.get(name) or default
    try:
        return parse_rate(text)
    except ValueError as error:
        raise SettingsError(f"{name}={text!r}: {error}") from error
