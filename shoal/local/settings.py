"""What the supervisor takes from the environment: the one place of `shoal/local` that reads it."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class SettingsError(ValueError):
    """A value that cannot be used; the text names the variable, the value and what is expected."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Ports are on 127.0.0.1, 0 asks for a free one; `redis_url` empty means the embedded Redis."""

    home: Path
    studio_port: int
    agent_port: int
    gateway_tls_port: int
    gateway_port: int
    redis_port: int | None  # None: the embedded Redis has a Unix socket only
    redis_url: str
    node_name: str
    inherited: dict[str, str]  # the whole environment, for the children

    @property
    def blobs(self) -> Path:
        """Where model files lie, unless in a bucket."""
        return Path(self.inherited.get("SHOAL_BLOB_DIR") or self.home / "blobs")


def load() -> LocalSettings:
    """Read the environment. Raises SettingsError."""
    return LocalSettings(
        home=_home(),
        studio_port=_port("SHOAL_STUDIO_PORT", 8080),
        agent_port=_port("SHOAL_AGENT_PORT", 8445),
        gateway_tls_port=_port("SHOAL_GATEWAY_TLS_PORT", 8443),
        gateway_port=_port("SHOAL_GATEWAY_PORT", 8090),
        redis_port=_port("SHOAL_REDIS_PORT", 0) if os.environ.get("SHOAL_REDIS_PORT") else None,
        redis_url=os.environ.get("SHOAL_REDIS_URL", ""),
        node_name=os.environ.get("SHOAL_NODE_NAME", "local"),
        inherited=dict(os.environ),
    )


def _home() -> Path:
    if chosen := os.environ.get("SHOAL_HOME"):
        return Path(chosen).expanduser().resolve()
    # why: in a checkout the data stays beside the code wherever the command is typed;
    # an installed package must not write into site-packages.
    base = ROOT if (ROOT / "manage.py").exists() else Path.cwd()
    return base / ".shoal"


def _port(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or int(text) > 65535:
        raise SettingsError(
            f"{name}={text!r}: expected a port from 1 to 65535, or 0 for a free one."
        )
    return int(text)
