"""A socket outlives many requests, so what opened it is looked at again: the session, the role."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from django.db import DatabaseError
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.accounts.policy import Permission, allows
from controlplane.accounts.selectors import user_of_session
from controlplane.console.database import in_database

logger = logging.getLogger(__name__)

UNAUTHENTICATED: Final = 4401
FORBIDDEN: Final = 4403
LOOK_EVERY_S: Final = 30.0


class Watch:
    """Closes the socket once its session has ended, or its user may not use it any more."""

    def __init__(
        self,
        scope: Mapping[str, Any],
        close: Callable[[int], Awaitable[None]],
        every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._scope = scope
        self._close = close
        self._every_s = every_s
        self._needed: set[Permission] = set()
        self._task: asyncio.Task[None] | None = None

    async def begin(self, needed: Permission) -> bool:
        """Whether the socket may stay open; if not, it has been closed."""
        self._needed.add(needed)
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

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def allows(self, permission: Permission) -> bool:
        """Asked anew each time: a role that was taken away counts from the next request on."""
        return allows(await self._user(), permission)

    async def _look(self) -> None:
        may_stay = True
        while may_stay:
            await asyncio.sleep(self._every_s)
            try:
                may_stay = await self._passes()
            except DatabaseError:
                # why on: a moment without the database must not be the end of all looking
                logger.exception("Whether a socket may stay open cannot be told now")

    async def _passes(self) -> bool:
        user = await self._user()
        if user is None:
            await self._close(UNAUTHENTICATED)
        elif not all(allows(user, permission) for permission in self._needed):
            await self._close(FORBIDDEN)
        else:
            return True
        return False

    async def _user(self) -> User | None:
        opened_by = self._scope["user"]
        if not opened_by.is_authenticated:
            return None
        session = self._scope.get("session")
        key = session.session_key if session is not None else None
        user: User | None = await in_database(_user_now)(opened_by.pk, key)
        return user


def _user_now(user_id: int, session_key: str | None) -> User | None:
    if session_key is None:  # opened without a browser's session: the account alone counts
        return User.objects.filter(pk=user_id, is_active=True).first()
    return user_of_session(user_id, session_key, timezone.now())
