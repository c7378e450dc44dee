"""Who calls, as a proxy says in a header: from trusted proxies alone, and never half."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from controlplane.accounts.models import BrowserSession, User
from controlplane.accounts.providers import RemoteUser, role_rules_read
from controlplane.accounts.remote_user import SCOPE, RemoteUserSockets, Told
from controlplane.accounts.services import token_create, user_update
from controlplane.config import sign_in
from controlplane.config.http_application import http_application
from controlplane.config.remote_user import RemoteUserGuard
from controlplane.core.models import Event
from controlplane.metrics import totals
from controlplane.system import diagnosis
from controlplane.system.types import State
from tests.support.people import make_user

PROXY, NEIGHBOUR = "10.0.0.2", "10.0.0.3"
GRACE = {"x-user": "grace", "x-groups": "staff, ops"}
db = pytest.mark.django_db(transaction=True)


class Studio:
    """The application behind its guard, as uvicorn calls it; keeps cookies as a browser does."""

    def __init__(self, remote: RemoteUser | None) -> None:
        inner = ProxyHeadersMiddleware(http_application(), trusted_hosts=[PROXY])
        self.app = RemoteUserGuard(inner, remote=remote, trusted=(f"{PROXY}/32",))
        self.cookies: dict[str, str] = {}

    async def get(
        self, path: str, *headers: tuple[str, str], peer: str = PROXY, method: str = "GET"
    ) -> tuple[int, Any]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent: list[Any] = []
        asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:
            return next(asked, None) or await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "client": (peer, 4711),
            "server": ("127.0.0.1", 8080),
            "headers": [
                (b"host", b"localhost"),
                *([(b"cookie", cookie.encode())] if cookie else []),
                *((name.encode(), value.encode()) for name, value in headers),
            ],
        }
        await self.app(scope, receive, send)
        for name, value in sent[0]["headers"]:
            if name.lower() == b"set-cookie":
                key, _, rest = value.decode().partition("=")
                self.cookies[key] = rest.partition(";")[0]
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], json.loads(body) if body else None

    async def me(self, *headers: tuple[str, str], peer: str = PROXY) -> Any:
        status, body = await self.get("/api/v1/session", *headers, peer=peer)
        if status != 200:
            return status, body["code"]
        return body["user"] and (body["user"]["username"], body["user"]["role"])


def refused(reason: str) -> float:
    labels = {"reason": reason}
    return totals.REGISTRY.get_sample_value("shoal_remote_user_refused_total", labels) or 0.0


@pytest.fixture
def remote(settings: Settings) -> Iterator[RemoteUser]:
    settings.SHOAL_REMOTE_USER = RemoteUser(
        user_header="X-User",
        groups_header="X-Groups",
        roles=role_rules_read("ops=operator;admins=admin"),
    )
    yield settings.SHOAL_REMOTE_USER


def headers(**more: str) -> list[tuple[str, str]]:
    return list(
        {**GRACE, **{name.replace("_", "-"): value for name, value in more.items()}}.items()
    )


@sync_to_async
def failed() -> list[tuple[str, str]]:
    rows = Event.objects.filter(verb="session.failed").order_by("seq")
    return [(row.data["code"], row.data.get("reason", "")) for row in rows]


@db
async def test_a_trusted_proxy_signs_people_in_and_its_word_counts_at_each_request(
    remote: RemoteUser,
) -> None:
    studio = Studio(remote)
    forwarded = ("x-forwarded-for", "198.51.100.7")
    assert await studio.me(*headers(), forwarded) == ("grace", "operator")
    user = await User.objects.aget(username="grace")
    assert (user.sign_in, user.subject) == ("header", "header grace")
    opened = await Event.objects.aget(verb="session.opened")
    assert opened.data == {"address": "198.51.100.7", "by": "header"}
    key = studio.cookies["shoal_session"]
    await studio.me(*headers())
    assert studio.cookies["shoal_session"] == key
    # other groups, another person, nobody: at once
    assert await studio.me(*headers(x_groups="admins")) == ("grace", "admin")
    assert await studio.me(("x-user", "linus"), ("x-groups", "ops")) == ("linus", "operator")
    assert await studio.me() is None
    assert await BrowserSession.objects.acount() == 0


@db
async def test_a_cookie_that_comes_past_the_proxy_is_worth_nothing(remote: RemoteUser) -> None:
    studio = Studio(remote)
    await studio.me(*headers())
    thief = Studio(remote)
    thief.cookies = dict(studio.cookies)
    for blank in ([], [("authorization", "")], [("authorization", " x")]):
        thief.cookies = dict(studio.cookies)
        assert (await thief.get("/api/v1/models", *blank, peer=NEIGHBOUR))[0] == 401
        assert await studio.me(*headers()) == ("grace", "operator")
    assert await studio.me(*headers()) == ("grace", "operator")


@db
@pytest.mark.parametrize(
    "sent",
    [
        headers(),
        [("x-groups", "admins")],
        [("X-USER", "grace")],
        [("x_user", "grace")],
        [("x-user", "")],
    ],
    ids=["both", "groups", "capitals", "underscore", "empty"],
)
async def test_nobody_else_may_say_it(remote: RemoteUser, sent: list[tuple[str, str]]) -> None:
    studio = Studio(remote)
    assert await studio.me(*sent, peer=NEIGHBOUR) == (401, "RemoteUserRefused")
    assert await studio.me(*sent, ("x-forwarded-for", PROXY), peer=NEIGHBOUR) == (
        401,
        "RemoteUserRefused",
    )
    assert await failed() == [("RemoteUserRefused", "no trusted proxy")] * 2
    assert not await User.objects.aexists()


@db
@pytest.mark.parametrize(
    "sent",
    [
        [("x-user", "grace"), ("x-user", "ada"), ("x-groups", "ops")],
        [("x-user", "grace"), ("x_user", "ada"), ("x-groups", "ops")],
        [("x-user", "grace"), ("x-groups", "ops"), ("x-groups", "admins")],
        [("x_user", "grace"), ("x-groups", "ops")],
        [("x-user", "gr\tace"), ("x-groups", "ops")],
    ],
    ids=["twice", "also with _", "groups twice", "with _", "tab"],
)
async def test_what_a_client_slipped_past_the_proxy_is_refused(
    remote: RemoteUser, sent: list[tuple[str, str]]
) -> None:
    assert await Studio(remote).me(*sent) == (401, "RemoteUserRefused")
    assert await failed() == [("RemoteUserRefused", "spelling")]


@db
async def test_the_proxy_shows_its_secret_where_there_is_one(settings: Settings) -> None:
    remote = RemoteUser("X-User", "X-Groups", role_rules_read("ops=operator"), secret="s" * 16)
    settings.SHOAL_REMOTE_USER = remote
    studio = Studio(remote)
    for wrong in (
        [],
        [("x-shoal-proxy-secret", "s" * 15)],
        [("x-shoal-proxy-secret", "s" * 16)] * 2,
    ):
        assert await studio.me(*headers(), *wrong) == (401, "RemoteUserRefused")
    right = ("x-shoal-proxy-secret", "s" * 16)
    assert await studio.me(*headers(), right) == ("grace", "operator")
    assert "s" * 15 not in str([event.data async for event in Event.objects.all()])


@db
async def test_refusals_are_counted_so_that_they_cannot_fill_the_log(remote: RemoteUser) -> None:
    studio = Studio(remote)
    before = refused("no trusted proxy")
    told = [await studio.me(*headers(), peer=NEIGHBOUR) for _ in range(8)]
    assert refused("no trusted proxy") - before == 8  # the metric has those that the log leaves out
    assert told[:5] == [(401, "RemoteUserRefused")] * 5
    assert told[-1] == (429, "TooManyAttempts")
    assert len(await failed()) < 8


@db
async def test_tokens_and_passwords_are_what_they_were(remote: RemoteUser) -> None:
    dora = await sync_to_async(make_user)("dora", User.Role.DEPLOYER)
    _, clear = await sync_to_async(token_create)(user=dora, name="ci", actor="dora")
    bearer = ("authorization", f"Bearer {clear}")
    studio = Studio(remote)
    assert await studio.me(bearer, peer=NEIGHBOUR) == ("dora", "deployer")
    assert await studio.me(bearer, *headers()) == ("dora", "deployer")
    assert studio.cookies.get("shoal_session") is None
    assert not await User.objects.filter(username="grace").aexists()


@db
async def test_who_has_no_role_or_is_out_or_is_another_is_refused(remote: RemoteUser) -> None:
    studio = Studio(remote)
    assert await studio.me(*headers(x_groups="staff")) == (403, "NoRole")
    assert await studio.me(*headers()) == ("grace", "operator")
    await sync_to_async(user_update)(username="grace", actor="ada", active=False)
    assert await studio.me(*headers()) == (403, "AccountDisabled")
    await sync_to_async(make_user)("ada", User.Role.ADMIN)
    assert await studio.me(*headers(x_user="ada")) == (409, "AccountIsLocal")


@db
async def test_writes_need_the_csrf_token(remote: RemoteUser) -> None:
    studio = Studio(remote)
    await studio.me(*headers())
    status, body = await studio.get("/api/v1/join-tokens", *headers(), method="POST")
    assert (status, body["code"]) == (403, "CsrfFailed")


@pytest.mark.parametrize(
    ("told", "seen"),
    [(None, False), (Told("linus", ()), False), (Told("grace", ("x",)), True)],
    ids=["nobody", "another", "the same"],
)
async def test_a_socket_speaks_for_whom_the_proxy_says(told: Told | None, seen: bool) -> None:
    grace = User(username="grace", sign_in="header", subject="header grace")
    found: list[Any] = []

    async def consumer(scope: Any, receive: Any, send: Any) -> None:
        found.append(scope["user"])

    await RemoteUserSockets(consumer)({"user": grace, SCOPE: told}, Any, Any)
    assert found[0].is_authenticated is seen


@db
async def test_where_the_mode_is_off_the_header_is_nobodys(settings: Settings) -> None:
    settings.SHOAL_REMOTE_USER = None
    assert await Studio(None).me(*headers()) is None


def test_the_mode_without_proxies_is_told() -> None:
    assert diagnosis.remote_user("", False) is None
    good, bad = (diagnosis.remote_user("X-User", trusted) for trusted in (True, False))
    assert good and bad
    assert (good.state, bad.state) == (State.OK, State.ERROR)
    assert "SHOAL_TRUSTED_PROXIES" in bad.hint


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SHOAL_REMOTE_USER_HEADER", "X_User", "expected the name"),
        ("SHOAL_REMOTE_USER_HEADER", "Authorization", "expected the name"),
        ("SHOAL_REMOTE_ROLES", "", "is missing"),
        ("SHOAL_REMOTE_SECRET", "short", "expected a random text"),
        ("SHOAL_REMOTE_LOGOUT_URL", "http://x", "expected https"),
    ],
)
def test_what_cannot_be_meant_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv("SHOAL_REMOTE_USER_HEADER", "X-User")
    monkeypatch.setenv("SHOAL_REMOTE_ROLES", "*=viewer")
    assert sign_in.remote_user() is not None
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=rf"^{name}.*{told}"):
        sign_in.remote_user()
