"""What the listeners of every protocol share: their socket, TLS, and their open connections."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Collection, Iterator
from time import monotonic
from typing import Generic, TypeVar

from worker_runtime.types.listening import TlsFiles, inherited

_BACKLOG = 1024
_AT_ONCE_S = 0.0005  # of looking at connections, in one turn of the loop

Member = TypeVar("Member")


async def listen(
    connected: Callable[[], asyncio.Protocol],
    address: str,
    port: int,
    tls: ssl.SSLContext | None,
    *,
    reuse_port: bool,
    descriptor: int | None,
) -> asyncio.Server:
    """A TCP listener; ``descriptor`` None: at ``address`` and ``port``. Raises OSError."""
    loop = asyncio.get_running_loop()
    if handed := inherited(descriptor):
        return await loop.create_server(connected, sock=handed, backlog=_BACKLOG, ssl=tls)
    return await loop.create_server(
        connected, address, port, backlog=_BACKLOG, ssl=tls, reuse_port=reuse_port or None
    )


def server_context(files: TlsFiles, protocol: str, kind: str) -> ssl.SSLContext:
    """A server's context that offers ``protocol`` (its ALPN name).

    ``kind`` is the front of the flags' names, for errors. Raises OSError for files that are missing
    or cannot be used.
    """
    if not files.server_cert or not files.server_key:
        raise OSError(f"TLS needs --{kind}-server-cert and --{kind}-server-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(files.server_cert, files.server_key)
    context.set_alpn_protocols([protocol])
    if files.root_cert:
        context.load_verify_locations(files.root_cert)
    if files.mutual:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Members(set[Member]):
    """The open connections of a listener."""

    def __init__(self) -> None:
        super().__init__()
        self._left: asyncio.Event | None = None

    def discard(self, member: object) -> None:
        super().discard(member)
        if not self and self._left is not None:
            self._left.set()

    async def emptied(self, seconds: float) -> None:
        """Wait until the last one has ended, so long at most."""
        if self and seconds > 0:
            self._left = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._left.wait(), seconds)


class Sweeper(Generic[Member]):
    """Gives each of ``members`` and the time of the monotonic clock to ``look``, on and on.

    It looks at every connection now and then, without holding up the loop.
    """

    def __init__(
        self,
        members: Collection[Member],
        look: Callable[[Member, float], None],
        each_s: float,
    ) -> None:
        self._members = members
        self._each_s = each_s
        self._look = look
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._each_s, self._begin)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self) -> None:
        self._go_on(iter(list(self._members)))

    def _go_on(self, rest: Iterator[Member]) -> None:
        now = monotonic()
        for member in rest:
            self._look(member, now)
            if monotonic() - now > _AT_ONCE_S:
                self._timer = asyncio.get_running_loop().call_later(0, self._go_on, rest)
                return
        self.start()
