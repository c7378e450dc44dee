"""A socket outlives many requests, so what opened it is looked at again: the session, the role, and
whether what it shows is still in a project of its user's."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from django.db import DatabaseError
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.accounts.policy import Permission, allows, scope_of
from controlplane.accounts.scope import Scope, within
from controlplane.accounts.selectors import user_of_session
from controlplane.console.database import in_database
from controlplane.core.errors import Forbidden
from controlplane.deployments.selectors import endpoint_get
from controlplane.operations.selectors import operation_get

logger = logging.getLogger(__name__)

UNAUTHENTICATED: Final = 4401
FORBIDDEN: Final = 4403
LOOK_EVERY_S: Final = 30.0
# How topics that belong to a project are found by who may not see all; of all others none is seen.
OF_PROJECTS: Final[Mapping[str, Callable[[str], object]]] = {
    "endpoint": endpoint_get,
    "operation": operation_get,
    "pipeline": lambda name: endpoint_get(name.partition("/")[0]),
    "events": lambda _: None,  # nothing to find: each is told of its own projects
}


async def _nothing() -> None:
    """There is nothing besides to look at."""


class Watch:
    """Closes the socket once its session has ended, or its user may not use it any more."""

    def __init__(
        self,
        scope: Mapping[str, Any],
        close: Callable[[int], Awaitable[None]],
        every_s: float = LOOK_EVERY_S,
        also: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        """``also`` is called with each look that the socket has passed."""
        self._scope = scope
        self._close = close
        self._every_s = every_s
        self._also = also
        self._begun: Permission | None = None
        self._needed: set[Permission] = set()
        self._told_of: list[Scope] = []  # empty: of nothing that depends on it
        self._task: asyncio.Task[None] | None = None

    async def begin(self, needed: Permission) -> bool:
        """Whether the socket may stay open, as long as its user has this permission in the
        installation or in some project; if not, it has been closed."""
        self._begun = needed
        if not await self._passes():
            return False
        self._task = asyncio.create_task(self._look())
        return True

    async def hold(self, permission: Permission) -> bool:
        """Whether it is allowed; if so, the socket is closed once it is not any more."""
        if not await self.allows(permission):
            return False
        self._needed.add(permission)
        return True

    async def projects(self) -> Scope:
        """Where the user may read, the same as long as the socket is open: once that is elsewhere
        it is closed, and may come back for what it missed."""
        if not self._told_of:
            self._told_of = [await in_database(scope_of)(await self._user(), Permission.READ)]
        return self._told_of[0]

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def allows(self, permission: Permission) -> bool:
        """Asked anew each time: a role that was taken away counts from the next request on."""
        return allows(await self._user(), permission)

    async def see(self, topic: str, permission: Permission = Permission.READ) -> None:
        """Raises NotFound, also for what is not in a project where the user has the permission, and
        Forbidden for topics of the installation."""
        user = await self._user()
        if not allows(user, permission):
            await in_database(_seen)(user, topic, permission)

    async def _look(self) -> None:
        may_stay = True
        while may_stay:
            await asyncio.sleep(self._every_s)
            try:
                may_stay = await self._passes()
                if may_stay:
                    await self._also()
            except DatabaseError:
                # why on: a moment without the database must not be the end of all looking
                logger.exception("Whether a socket may stay open cannot be told now")

    async def _passes(self) -> bool:
        user = await self._user()
        if user is None:
            await self._close(UNAUTHENTICATED)
        elif await self._may_stay(user):
            return True
        else:
            await self._close(FORBIDDEN)
        return False

    async def _may_stay(self, user: User) -> bool:
        if not all(allows(user, permission) for permission in self._needed):
            return False
        begun = self._begun
        if begun is not None and not (
            allows(user, begun) or await in_database(scope_of)(user, begun)
        ):
            return False
        if not self._told_of:
            return True
        return self._told_of == [await in_database(scope_of)(user, Permission.READ)]

    async def _user(self) -> User | None:
        opened_by = self._scope["user"]
        if not opened_by.is_authenticated:
            return None
        session = self._scope.get("session")
        key = session.session_key if session is not None else None
        user: User | None = await in_database(_user_now)(opened_by.pk, key)
        return user


def _seen(user: User | None, topic: str, permission: Permission) -> None:
    """Raises NotFound, Forbidden."""
    kind, _, name = topic.partition(":")
    scope = scope_of(user, permission)
    if kind not in OF_PROJECTS or not scope:
        raise Forbidden(f"{kind}: this is of the installation, and needs a role there.")
    with within(scope):
        OF_PROJECTS[kind](name)


def _user_now(user_id: int, session_key: str | None) -> User | None:
    if session_key is None:  # opened without a browser's session: the account alone counts
        return User.objects.filter(pk=user_id, is_active=True).first()
    return user_of_session(user_id, session_key, timezone.now())
