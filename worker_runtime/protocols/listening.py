"""A TCP listener of any protocol, at an address or on a socket that the parent has bound."""

import asyncio
import ssl
from collections.abc import Callable

from worker_runtime.types.listening import inherited

_BACKLOG = 1024


async def listen(
    connected: Callable[[], asyncio.Protocol],
    address: str,
    port: int,
    tls: ssl.SSLContext | None,
    *,
    reuse_port: bool,
    descriptor: int | None,
) -> asyncio.Server:
    """``descriptor`` None: at ``address`` and ``port``. Raises OSError."""
    loop = asyncio.get_running_loop()
    if handed := inherited(descriptor):
        return await loop.create_server(connected, sock=handed, backlog=_BACKLOG, ssl=tls)
    return await loop.create_server(
        connected, address, port, backlog=_BACKLOG, ssl=tls, reuse_port=reuse_port or None
    )
