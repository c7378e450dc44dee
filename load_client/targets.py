"""Where a server is, how connections to it are made, and what it says of its models."""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from load_client.connections import Connection
from load_client.requests import model_path
from load_client.statistics import Counts, counts

CONNECT_S: Final = 5.0
LARGEST_BYTES: Final = 4 << 20  # of a description


class Unreachable(RuntimeError):
    """Its text says what was asked, and what came back."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Target:
    """``headers`` prove who asks, and pin a deployment."""

    host: str
    port: int
    prefix: str = ""
    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def connect(self) -> Connection:
        return Connection((self.host, self.port), self.tls, CONNECT_S)

    def get(self, path: str) -> Any:
        """Raises Unreachable."""
        url = f"{'https' if self.tls else 'http'}://{self.address}{self.prefix}{path}"
        # why no proxy: what is measured is the server
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=self.tls),
            _NoRedirects(),
        )
        asked = urllib.request.Request(url, headers=dict(self.headers))  # noqa: S310 - of ours
        try:
            with opener.open(asked, timeout=CONNECT_S) as answer:
                return json.loads(answer.read(LARGEST_BYTES))
        except urllib.error.HTTPError as error:
            said = error.read(300).decode(errors="replace")
            raise Unreachable(f"GET {url}: {error.code} {said}".strip()) from error
        except (OSError, ValueError) as error:
            raise Unreachable(f"GET {url}: {error}") from error

    def statistics(self, model: str, version: str = "") -> Counts | None:
        """None of a server that keeps none."""
        try:
            return counts(self.get(model_path(model, version, "stats")))
        except (Unreachable, ValueError):
            return None


def target_of(
    url: str, *, headers: Mapping[str, str] | None = None, tls: ssl.SSLContext | None = None
) -> Target:
    """Raises ValueError. ``tls`` is for https; without, the authorities of this machine count."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r}: expected http://HOST:PORT or https://HOST:PORT")
    secure = parts.scheme == "https"
    return Target(
        host=parts.hostname,
        port=parts.port or (443 if secure else 80),
        prefix=parts.path.rstrip("/").removesuffix("/v2"),
        tls=(tls or ssl.create_default_context()) if secure else None,
        headers=headers or {},
    )
