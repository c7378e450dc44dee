"""A socket is closed when what opened it has ended."""

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async
from conftest_console import user
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from controlplane.accounts.models import User
from controlplane.accounts.policy import PEOPLE, Permission
from controlplane.accounts.services import session_revoke, sessions_end_all, user_update
from controlplane.console.watch import FORBIDDEN, UNAUTHENTICATED, Watch

PASSWORD = "x" * 12


def signed_in() -> tuple[User, Any]:
    person = user()
    client = Client()
    credentials = {"username": person.username, "password": PASSWORD}
    client.post("/api/v1/session", credentials, content_type="application/json")
    return person, client.session


class Socket:
    """Notes with which code it was closed."""

    def __init__(self, person: Any, session: Any = None) -> None:
        self.closed: asyncio.Queue[int] = asyncio.Queue()
        scope = {"user": person, "session": session}
        self.watch = Watch(scope, self.closed.put, every_s=0.01)

    async def code(self) -> int:
        return await asyncio.wait_for(self.closed.get(), 10)


def revoke(person: User) -> None:
    row = person.browser_sessions.get()
    session_revoke(user=person, session_id=row.pk, actor="ada")


def deactivate(person: User) -> None:
    user_update(username=person.username, active=False, actor="ada")


def end_all(person: User) -> None:
    sessions_end_all(user=person)


@pytest.mark.parametrize("end", [revoke, deactivate, end_all])
async def test_a_socket_ends_with_its_session(transactional_db: None, end: Any) -> None:
    person, session = await database_sync_to_async(signed_in)()
    socket = Socket(person, session)
    assert await socket.watch.begin(Permission.READ)
    await database_sync_to_async(end)(person)
    assert await socket.code() == UNAUTHENTICATED


async def test_a_socket_ends_when_the_role_no_longer_allows_it(transactional_db: None) -> None:
    person, session = await database_sync_to_async(signed_in)()
    socket = Socket(person, session)
    assert await socket.watch.begin(Permission.INVOKE)
    assert await socket.watch.allows(Permission.DEPLOY)
    await database_sync_to_async(user_update)(username=person.username, role="viewer", actor="ada")
    assert not await socket.watch.allows(Permission.DEPLOY)
    assert await socket.code() == FORBIDDEN


async def test_a_socket_that_tells_of_people_ends_when_its_user_may_not_read_them_any_more(
    transactional_db: None,
) -> None:
    person, session = await database_sync_to_async(signed_in)()
    socket = Socket(person, session)
    assert await socket.watch.begin(Permission.READ)
    assert not await socket.watch.hold(PEOPLE)
    person.role = User.Role.ADMIN
    await database_sync_to_async(person.save)()
    assert await socket.watch.hold(PEOPLE)
    person.role = User.Role.OPERATOR
    await database_sync_to_async(person.save)()
    assert await socket.code() == FORBIDDEN


async def test_strangers_are_turned_away(transactional_db: None) -> None:
    socket = Socket(AnonymousUser())
    assert not await socket.watch.begin(Permission.READ)
    assert await socket.code() == UNAUTHENTICATED
