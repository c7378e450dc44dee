"""The remote-user headers, read where it is still known whose connection it is.

Behind this, ``X-Forwarded-For`` of trusted proxies has replaced the peer's address, and Django has
made one name of ``X-User`` and ``X_User``.
"""

import hmac
from ipaddress import ip_address, ip_network

from channels.db import database_sync_to_async

from controlplane.accounts import services
from controlplane.accounts.errors import RemoteUserRefused
from controlplane.accounts.providers import RemoteUser
from controlplane.accounts.remote_user import SCOPE, Told
from controlplane.config.guards import Application, Message, Receive, Send, answer
from controlplane.core.errors import DomainError
from controlplane.core.http import domain_problem
from controlplane.metrics import totals


class RemoteUserGuard:
    """Refuses a request whose remote-user headers are not a trusted proxy's; never passes it on
    without them instead, as somebody else."""

    def __init__(
        self, app: Application, *, remote: RemoteUser | None, trusted: tuple[str, ...]
    ) -> None:
        self.app = app
        self.remote = remote
        self.trusted = tuple(ip_network(network) for network in trusted)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if self.remote is not None and scope["type"] in ("http", "websocket"):
            peer = str((scope.get("client") or ("",))[0])
            try:
                scope = {**scope, SCOPE: told_by(self.remote, scope, self._trusts(peer))}
            except RemoteUserRefused as error:
                await self._refuse(error, peer, scope, send)
                return
        await self.app(scope, receive, send)

    def _trusts(self, peer: str) -> bool:
        try:
            address = ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        return any(address in network for network in self.trusted)

    async def _refuse(
        self, error: RemoteUserRefused, peer: str, scope: Message, send: Send
    ) -> None:
        totals.REMOTE_USERS_REFUSED.labels(str(error.extra["reason"])).inc()
        told: DomainError = error
        try:
            await database_sync_to_async(services.remote_user_refused)(error, address=peer)
        except DomainError as busy:
            told = busy
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4401})
            return
        await answer(domain_problem(told, scope["path"]), send, closing=True)


def told_by(remote: RemoteUser, scope: Message, trusted: bool) -> Told | None:
    """What the headers say; None where they say nothing. Raises RemoteUserRefused."""
    names = {remote.user_header.lower(), remote.groups_header.lower()} - {""}
    found: dict[str, list[str]] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name.replace("_", "-") in names:
            found.setdefault(name, []).append(value.decode("utf-8", "replace").strip())
    if not found:
        return None
    if not trusted:
        raise RemoteUserRefused(
            f"{', '.join(sorted(found))}: only proxies of SHOAL_TRUSTED_PROXIES may send this.",
            extra={"reason": "no trusted proxy"},
        )
    if remote.secret and not _knows(remote, scope):
        raise RemoteUserRefused(
            f"{remote.secret_header}: expected once, with the secret of SHOAL_REMOTE_SECRET.",
            extra={"reason": "secret"},
        )
    for name, values in found.items():
        if name not in names or len(values) > 1 or not values[0].isprintable():
            raise RemoteUserRefused(
                f"{name}: expected once, in just this spelling, of printable letters in UTF-8.",
                extra={"reason": "spelling"},
            )
    name = found.get(remote.user_header.lower(), [""])[0]
    groups = found.get(remote.groups_header.lower(), [""])[0].split(remote.separator)
    return Told(name, tuple(filter(None, map(str.strip, groups)))) if name else None


def _knows(remote: RemoteUser, scope: Message) -> bool:
    wanted = remote.secret_header.lower().encode()
    given = [value for name, value in scope["headers"] if name.lower() == wanted]
    return len(given) == 1 and hmac.compare_digest(given[0], remote.secret.encode())
