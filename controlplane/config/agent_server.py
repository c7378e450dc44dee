"""The agents' port: TLS with certificates on both sides, for nodes and gateways alone.

Run as a program, `python -m controlplane.config.agent_server`. It serves the same application as
the studio's process, less what people call, so that what agents do there never waits for people,
nor people for agents.
"""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.config.settings")
from django.conf import settings

# why before the others: it sets Django up, which importing rows needs.
from controlplane.config.http_application import http_application  # isort: split

from controlplane.config.guards import AgentsOnly
from controlplane.core.borrowed import give_back
from controlplane.core.errors import DomainError
from controlplane.core.slow_clock import Server
from controlplane.nodes import authority
from controlplane.nodes.auth import EXTENSION
from wire.proof import load_pair

logger = logging.getLogger(__name__)

RENEWED_EVERY: Final = timedelta(days=7)  # certificates live for 30 days
LOOK_S: Final = 3600.0
# Of an idle connection: longer than agents keep theirs between calls, which are handshakes saved.
KEPT_S: Final = 75
SCHEME: Final = "shoal:"


class AgentProtocol(HttpToolsProtocol):
    """HTTP that tells the application whose verified certificate the connection shows."""

    _shown = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._shown = shown(transport.get_extra_info("peercert"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {EXTENSION: {"who": self._shown}}


def shown(certificate: Any) -> str:
    """``node/<id>`` or ``gateway/<name>`` of what ``ssl`` has verified; empty for nothing."""
    names = (certificate or {}).get("subjectAltName", ())
    found = [name for kind, name in names if kind == "URI" and name.startswith(SCHEME)]
    return found[0].removeprefix(SCHEME) if len(found) == 1 else ""


class AgentTls:
    """The context of the port; its certificate is made anew while it serves."""

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Optional, for who joins has none yet; what is shown is verified, else the handshake fails.
        self.context.verify_mode = ssl.CERT_OPTIONAL
        # why none: a ticket would stand for a certificate that may have ended since
        self.context.num_tickets = 0
        self.made_at = datetime.min.replace(tzinfo=UTC)

    def renew(self, now: datetime) -> bool:
        """New connections see the new certificate, and are verified by every known authority."""
        if now - self.made_at < RENEWED_EVERY:
            return False
        try:
            self.context.load_verify_locations(cadata=authority.authorities_pem(now))
            pair = authority.server_pair(names(), now)
        finally:
            give_back()  # no request of this thread ends, and the next look is an hour away
        load_pair(self.context, certificate=pair.certificate, key=pair.key)
        self.made_at = now
        return True

    async def keep(self) -> None:
        """For ever: renew in time, whatever goes wrong meanwhile."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                if await asyncio.to_thread(self.renew, datetime.now(UTC)):
                    logger.info("The certificate of the agents' port was renewed.")
            except Exception:
                # why any: a database that is down for an hour must not end this for good
                logger.exception("The certificate of the agents' port was not renewed")


def names() -> list[str]:
    """Under which agents may call: that of SHOAL_AGENT_URL, and this machine's own."""
    told = urlsplit(settings.SHOAL_AGENT_URL).hostname or "localhost"
    own = ("localhost", "127.0.0.1", "::1", socket.gethostname())
    return list(dict.fromkeys((told, *own, *settings.SHOAL_AGENT_TLS_NAMES)))


@contextlib.asynccontextmanager
async def _kept(tls: AgentTls) -> AsyncIterator[None]:
    keeping = asyncio.create_task(tls.keep())
    try:
        yield
    finally:
        keeping.cancel()


async def _serve(tls: AgentTls) -> None:
    config = uvicorn.Config(
        AgentsOnly(http_application()),
        host=settings.SHOAL_AGENT_BIND,
        port=settings.SHOAL_AGENT_PORT,
        http=AgentProtocol,
        ws="none",
        lifespan="off",
        ssl_context_factory=lambda _config, _default: tls.context,
        timeout_keep_alive=KEPT_S,
        timeout_graceful_shutdown=3,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # agents come themselves, or through what does not look inside
    )
    async with _kept(tls):
        await Server(config).serve()


def slim() -> None:
    """People's API, their sessions and REST framework would be half of this process's memory."""
    settings.ROOT_URLCONF = "controlplane.config.agent_urls"
    settings.MIDDLEWARE = settings.AGENTS_MIDDLEWARE


def main() -> int:
    slim()
    tls = AgentTls()
    try:
        tls.renew(datetime.now(UTC))
    except DomainError as error:
        logger.error("The agents' port cannot be opened: %s %s", error, " ".join(error.hints))
        return 1
    asyncio.run(_serve(tls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
