"""Whether a socket may stay open is looked at again, also after a look that failed."""

import asyncio
from types import SimpleNamespace

import pytest
from django.db import OperationalError

from controlplane.accounts.models import User
from controlplane.accounts.policy import Permission
from controlplane.console.watch import UNAUTHENTICATED, Watch


def test_a_moment_without_the_database_does_not_end_the_looking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[User | Exception | None] = [
        User(username="dora", role=User.Role.DEPLOYER),
        OperationalError("the database is locked"),
        None,  # the session has ended
    ]

    async def user(_: Watch) -> User | None:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(Watch, "_user", user)

    async def closed_with() -> int:
        code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def close(told: int) -> None:
            code.set_result(told)

        watch = Watch({"user": SimpleNamespace(is_authenticated=True)}, close, every_s=0.0)
        assert await watch.begin(Permission.READ)
        async with asyncio.timeout(5):
            return await code

    assert asyncio.run(closed_with()) == UNAUTHENTICATED
