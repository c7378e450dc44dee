"""What the gateway's programs take from the environment; needs no Django."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from wire.addresses import collector_url
from wire.secret_files import EmptySecret, secret

DEFAULT_CONTROL_URL = "http://127.0.0.1:8080"
MAX_DEFAULT_CONCURRENCY = 8
LEAST_TRUST_S, MAX_TRUST_S = 15, 86_400  # a report that is late is no reason to refuse everybody
# Requests that wait for replicas to wake, of all deployments together.
DEFAULT_HELD, MOST_HELD = 4000, 16_384
DEFAULT_DRAIN_S, MAX_DRAIN_S = 20, 3600
DEFAULT_TRACES_PERCENT = 1


class SettingsError(ValueError):
    """A variable whose value cannot be used; the text names it and what was expected."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """One gateway: where it listens, where its files are, whom it asks. Port 0: any free one."""

    home: Path
    tls_dir: Path
    control_url: str
    control_authority: Path | None  # PEM of who may answer there; None: whom this machine trusts
    token: str
    name: str
    address: str
    tls_port: int
    plain_port: int
    tls_names: tuple[str, ...]
    concurrency: int
    trust_s: int = 0  # how long Envoy believes its keys without news of them; 0: for ever
    drain_s: int = DEFAULT_DRAIN_S  # how long what is open may take when the gateway is stopped
    most_held: int = DEFAULT_HELD  # requests that wait for replicas to wake, at a time
    leaves: bool = False  # it is gone for good when its agent and Envoy are stopped
    traces_url: str = ""  # where Envoy sends spans by OTLP; empty: it makes none
    traces_authorities: str = ""  # file of who may vouch for it; empty: it is not asked by TLS
    traces_percent: int = DEFAULT_TRACES_PERCENT  # of requests whose caller has not decided it

    @property
    def folder(self) -> Path:
        return self.home / "gateway"


def load() -> GatewaySettings:
    """Read the environment. Raises SettingsError."""
    home = Path(os.environ.get("SHOAL_HOME") or ".shoal").expanduser().resolve()
    public_url = os.environ.get("SHOAL_PUBLIC_URL") or DEFAULT_CONTROL_URL
    names = os.environ.get("SHOAL_GATEWAY_TLS_NAMES", "")
    traces_url = _traces_url()
    return GatewaySettings(
        home=home,
        tls_dir=Path(os.environ.get("SHOAL_TLS_DIR") or home / "tls").resolve(),
        control_url=(os.environ.get("SHOAL_CONTROL_URL") or public_url).rstrip("/"),
        control_authority=_path("SHOAL_CONTROL_CA_FILE"),
        token=_token(home / "secrets" / "gateway_token"),
        name=os.environ.get("SHOAL_GATEWAY_NAME") or "local",
        address=os.environ.get("SHOAL_GATEWAY_ADDRESS") or "127.0.0.1",
        tls_port=_integer("SHOAL_GATEWAY_TLS_PORT", 8443, 65535),
        plain_port=_integer("SHOAL_GATEWAY_PORT", 8090, 65535),
        tls_names=tuple(name.strip() for name in names.split(",") if name.strip()),
        concurrency=_integer("SHOAL_GATEWAY_CONCURRENCY", 0, 1024)
        or min(os.cpu_count() or 1, MAX_DEFAULT_CONCURRENCY),
        trust_s=_trust_s(),
        drain_s=_integer("SHOAL_GATEWAY_DRAIN_S", DEFAULT_DRAIN_S, MAX_DRAIN_S),
        most_held=_integer("SHOAL_GATEWAY_MOST_HELD", DEFAULT_HELD, MOST_HELD),
        leaves=_flag("SHOAL_GATEWAY_LEAVES"),
        traces_url=traces_url,
        traces_authorities=_authorities(traces_url) if traces_url.startswith("https:") else "",
        traces_percent=_integer("SHOAL_GATEWAY_TRACES_PERCENT", DEFAULT_TRACES_PERCENT, 100),
    )


def _path(name: str) -> Path | None:
    return Path(os.environ[name]).expanduser() if os.environ.get(name) else None


def _flag(name: str) -> bool:
    text = os.environ.get(name) or "false"
    if text not in ("true", "false"):
        raise SettingsError(f"{name}={text!r}: expected true or false.")
    return text == "true"


def _integer(name: str, default: int, highest: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or int(text) > highest:
        raise SettingsError(f"{name}={text!r}: expected a whole number from 0 to {highest}.")
    return int(text)


def _trust_s() -> int:
    seconds = _integer("SHOAL_GATEWAY_TRUST_S", 0, MAX_TRUST_S)
    if 0 < seconds < LEAST_TRUST_S:
        raise SettingsError(
            f"SHOAL_GATEWAY_TRUST_S='{seconds}': expected 0 (for ever), or {LEAST_TRUST_S} or more."
        )
    return seconds


def _traces_url() -> str:
    name = "SHOAL_GATEWAY_TRACES_URL"
    try:
        return collector_url(name, os.environ.get(name, ""))
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _authorities(url: str) -> str:
    file = ssl.get_default_verify_paths().cafile
    if file is None:
        raise SettingsError(
            f"SHOAL_GATEWAY_TRACES_URL={url!r}: this machine has no file of authorities to trust. "
            "Let SSL_CERT_FILE name one, as PEM."
        )
    return str(Path(file).resolve())


def _token(default_file: Path) -> str:
    """Empty when there is none yet: preparing the folder needs no token, the agent does."""
    try:
        return secret(os.environ, "SHOAL_GATEWAY_TOKEN", default_file) or ""
    except EmptySecret as error:
        raise SettingsError(str(error)) from error
