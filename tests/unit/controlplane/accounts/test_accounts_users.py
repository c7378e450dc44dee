"""People and what lets them in: made, changed, put out; tokens and sessions that end."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts import selectors, services
from controlplane.accounts.models import ApiToken, BrowserSession, User
from controlplane.accounts.policy import Permission, allows, lowest_role, permissions_of
from controlplane.core.models import Event
from tests.support.people import PASSWORD, make_user


def browser(username: str, password: str = PASSWORD) -> Client:
    """A browser that has signed in, or has tried to."""
    client = Client(headers={"User-Agent": f"browser of {username}"})
    credentials = {"username": username, "password": password}
    client.post("/api/v1/session", credentials, content_type="application/json")
    return client


def is_signed_in(client: Client) -> bool:
    return bool(client.get("/api/v1/session").json()["authenticated"])


def send(client: Client, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    text = json.dumps(body or {})
    return client.generic(method.upper(), f"/api/v1/{path}", text, content_type="application/json")


def bearer(clear: str) -> APIClient:
    client = APIClient()
    client.default_format = "json"
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    return client


@pytest.mark.parametrize(
    ("role", "scopes", "may"),
    [
        ("viewer", None, {"read", "account"}),
        ("invoker", None, {"read", "account", "invoke"}),
        ("operator", None, {"read", "account", "invoke", "deploy", "keys", "operate"}),
        ("admin", None, set(Permission)),
        ("admin", ["invoke"], {"read", "invoke"}),
        ("viewer", ["administer"], {"read"}),
        ("nobody", None, set()),
    ],
)
def test_what_a_role_and_a_scope_leave(role: str, scopes: Any, may: set[str]) -> None:
    assert permissions_of(role, scopes) == may


def test_somebody_can_do_each_thing_and_the_inactive_nothing() -> None:
    assert lowest_role(Permission.KEYS) == "deployer"
    for permission in Permission:
        user = User(username="x", role=lowest_role(permission))
        assert allows(user, permission)
        assert not allows(User(username="x", role="admin", is_active=False), permission)


def test_an_administrator_adds_people_with_a_password_of_either_side(
    admin_api: APIClient,
) -> None:
    made = admin_api.post("/api/v1/users", {"username": "nora", "role": "invoker"})
    assert made.status_code == 201
    password = made.json()["password"]
    assert is_signed_in(browser("nora", password))
    given = {"username": "olaf", "role": "viewer", "password": PASSWORD}
    assert admin_api.post("/api/v1/users", given).json()["password"] is None
    assert is_signed_in(browser("olaf"))
    listed = admin_api.get("/api/v1/users").json()["items"]
    assert [(item["username"], item["role"], item["active"]) for item in listed] == [
        ("ada", "admin", True),
        ("nora", "invoker", True),
        ("olaf", "viewer", True),
    ]
    assert [item["token_count"] for item in listed] == [1, 0, 0]
    assert listed[1]["last_seen_at"] is not None
    found = admin_api.get("/api/v1/users?q=no").json()["items"]
    assert [item["username"] for item in found] == ["nora"]
    (event,) = Event.objects.filter(verb="user.created", subject="user/nora")
    assert (event.actor, event.data) == ("ada", {"role": "invoker"})
    assert password not in str(list(Event.objects.values()))


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"username": "ada", "role": "viewer"}, 409, "NameTaken", "username"),
        ({"username": "a b", "role": "viewer"}, 400, "BadArgument", "username"),
        ({"username": "x", "role": "king"}, 400, "BadArgument", "role"),
        (
            {"username": "x", "role": "viewer", "password": "short"},
            400,
            "PasswordRefused",
            "password",
        ),
    ],
)
def test_a_person_that_cannot_be_added(
    admin_api: APIClient, body: dict[str, str], status: int, code: str, field: str
) -> None:
    answer = admin_api.post("/api/v1/users", body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (
        status,
        code,
        field,
    )


def test_a_role_that_changes_counts_from_the_next_request_on(
    admin_api: APIClient, deployer: User, client_of: Callable[[User], APIClient]
) -> None:
    client = client_of(deployer)
    assert client.post("/api/v1/uploads", {"filename": "m.onnx", "size": 1}).status_code == 201
    changed = admin_api.patch("/api/v1/users/dora", {"role": "viewer"})
    assert changed.json()["role"] == "viewer"
    assert client.post("/api/v1/uploads", {"filename": "m.onnx", "size": 1}).status_code == 403
    event = Event.objects.get(verb="user.updated")
    assert event.data["before"] == {"role": "deployer", "active": True, "sign_in": "password"}
    assert event.data["after"] == {"role": "viewer", "active": True, "sign_in": "password"}
    assert event.message == "dora is now viewer, was deployer"


def test_deactivating_ends_sessions_and_tokens_and_can_be_undone(
    admin_api: APIClient, deployer: User, client_of: Callable[[User], APIClient]
) -> None:
    client, window = client_of(deployer), browser("dora")
    assert is_signed_in(window)
    assert admin_api.patch("/api/v1/users/dora", {"active": False}).json()["active"] is False
    assert client.get("/api/v1/models").status_code == 401
    assert not is_signed_in(window)
    assert not is_signed_in(browser("dora"))
    assert not ApiToken.objects.filter(user=deployer).exists()
    admin_api.patch("/api/v1/users/dora", {"active": True})
    assert is_signed_in(browser("dora"))
    verbs = list(Event.objects.filter(subject="user/dora").values_list("verb", flat=True))
    assert "user.deactivated" in verbs
    assert "user.activated" in verbs


@pytest.mark.parametrize("change", [{"role": "operator"}, {"active": False}])
def test_the_last_administrator_stays(
    admin: User, admin_api: APIClient, change: dict[str, Any]
) -> None:
    answer = admin_api.patch("/api/v1/users/ada", change)
    assert (answer.status_code, answer.json()["code"]) == (409, "LastAdministrator")
    admin.refresh_from_db()
    assert (admin.role, admin.is_active) == ("admin", True)
    make_user("anna", User.Role.ADMIN)
    assert admin_api.patch("/api/v1/users/ada", change).status_code == 200


def test_an_inactive_administrator_does_not_count_as_one(admin: User, admin_api: APIClient) -> None:
    other = make_user("anna", User.Role.ADMIN)
    services.user_update(username=other.username, active=False, actor="ada")
    assert admin_api.patch("/api/v1/users/ada", {"role": "viewer"}).status_code == 409


def test_a_forgotten_password_is_set_anew_and_signs_browsers_out(
    admin_api: APIClient, deployer: User
) -> None:
    window = browser("dora")
    made = admin_api.post("/api/v1/users/dora/password", {}).json()["password"]
    assert not is_signed_in(window)
    assert not is_signed_in(browser("dora"))
    assert is_signed_in(browser("dora", made))
    chosen = admin_api.post("/api/v1/users/dora/password", {"password": "another good one"})
    assert chosen.json() == {"password": None}
    assert is_signed_in(browser("dora", "another good one"))
    assert admin_api.post("/api/v1/users/nobody/password", {}).status_code == 404


def test_ones_own_password_needs_the_present_one(deployer: User) -> None:
    here, elsewhere = browser("dora"), browser("dora")
    wrong = {"current": "not this", "password": "a new and long one"}
    refused = send(here, "post", "session/password", wrong)
    assert (refused.status_code, refused.json()["code"]) == (401, "BadCredentials")
    short = send(here, "post", "session/password", {"current": PASSWORD, "password": "short"})
    assert (short.status_code, short.json()["code"]) == (400, "PasswordRefused")
    good = {"current": PASSWORD, "password": "a new and long one"}
    assert send(here, "post", "session/password", good).status_code == 204
    assert is_signed_in(here)
    assert not is_signed_in(elsewhere)
    assert len(send(here, "get", "sessions").json()["items"]) == 1
    assert is_signed_in(browser("dora", "a new and long one"))


def test_guessing_ones_own_password_is_slowed_like_signing_in(deployer: User) -> None:
    here = browser("dora")
    wrong = {"current": "not this", "password": "a new and long one"}
    codes = [send(here, "post", "session/password", wrong).status_code for _ in range(6)]
    assert codes == [401] * 5 + [429]


def test_one_sees_and_ends_ones_own_sessions(deployer: User, viewer: User) -> None:
    here, elsewhere, hers = browser("dora"), browser("dora"), browser("vera")
    items = send(here, "get", "sessions").json()["items"]
    assert sorted(item["current"] for item in items) == [False, True]
    assert {item["agent"] for item in items} == {"browser of dora"}
    assert {item["address"] for item in items} == {"127.0.0.1"}
    (other,) = [item["id"] for item in items if not item["current"]]
    assert send(hers, "delete", f"sessions/{other}").status_code == 404
    assert send(here, "delete", f"sessions/{other}").status_code == 204
    assert not is_signed_in(elsewhere)
    assert is_signed_in(here)
    send(here, "delete", "session")
    assert BrowserSession.objects.filter(user=deployer).count() == 0
    assert Event.objects.filter(verb="session.revoked").count() == 1


def test_sessions_that_ran_out_are_neither_shown_nor_kept(deployer: User) -> None:
    here = browser("dora")
    browser("dora")
    old = BrowserSession.objects.order_by("pk").last()
    assert old is not None
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(session_key=old.session_key).update(expire_date=past)
    assert len(send(here, "get", "sessions").json()["items"]) == 1
    assert services.sessions_prune() == 1
    assert not Session.objects.filter(session_key=old.session_key).exists()


def test_a_session_speaks_for_its_user_until_either_ends(deployer: User) -> None:
    here = browser("dora")
    key = str(here.session.session_key)
    now = timezone.now()
    assert selectors.user_of_session(deployer.pk, key, now) == deployer
    assert selectors.user_of_session(deployer.pk, "another", now) is None
    User.objects.filter(pk=deployer.pk).update(is_active=False)
    assert selectors.user_of_session(deployer.pk, key, now) is None


def test_a_token_ends_with_its_time(deployer: User) -> None:
    soon = timezone.now() + timedelta(hours=1)
    _, clear = services.token_create(user=deployer, name="ci", actor="dora", expires_at=soon)
    assert bearer(clear).get("/api/v1/models").status_code == 200
    assert selectors.token_get(clear, soon + timedelta(seconds=1)) is None
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert bearer(clear).get("/api/v1/models").status_code == 401


def test_a_token_has_scopes_and_an_end(api: APIClient) -> None:
    ends = (timezone.now() + timedelta(days=30)).isoformat()
    body = {"name": "ci", "scopes": ["invoke", "read", "invoke"], "expires_at": ends}
    made = api.post("/api/v1/tokens", body, format="json").json()
    assert made["scopes"] == ["invoke", "read"]
    assert made["expires_at"] is not None
    limited = bearer(made["token"])
    session = limited.get("/api/v1/session").json()
    assert session["user"]["permissions"] == ["read", "invoke"]
    refused = limited.post("/api/v1/tokens", {"name": "wider"})
    assert (refused.status_code, refused.json()["code"]) == (403, "TokenScopeMissing")
    assert "account" in refused.json()["detail"]


@pytest.mark.parametrize("body", [{"name": "x"}, {"name": "x", "scopes": None}])
def test_a_token_without_scopes_may_do_what_its_user_may(
    api: APIClient, body: dict[str, Any]
) -> None:
    made = api.post("/api/v1/tokens", body, format="json").json()
    assert made["scopes"] == []
    session = bearer(made["token"]).get("/api/v1/session").json()
    assert (
        session["user"]["permissions"] == api.get("/api/v1/session").json()["user"]["permissions"]
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "scopes": ["everything"]}, "scopes.0"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["account"]}, "scopes.0"),
        ({"name": "x", "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"name": "x", "expires_at": "2999-01-01T00:00:00Z"}, "expires_at"),
        ({"name": ""}, "name"),
    ],
)
def test_a_token_that_is_not_made(api: APIClient, body: dict[str, Any], field: str) -> None:
    answer = api.post("/api/v1/tokens", body, format="json")
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_a_token_that_was_good_once_is_refused_on_record_but_not_without_end(
    api: APIClient, deployer: User
) -> None:
    ended = timezone.now() - timedelta(minutes=5)
    ApiToken.objects.filter(user=deployer).update(expires_at=ended)
    for _ in range(8):
        assert api.get("/api/v1/models").status_code == 401
    rows = list(Event.objects.filter(verb="token.refused"))
    assert len(rows) == 5
    token = ApiToken.objects.get(user=deployer)
    assert rows[0].data == {
        "address": "127.0.0.1",
        "by": "token",
        "prefix": token.prefix,
        "reason": f"it ended {ended.isoformat(timespec='seconds')}",
    }
    stranger = APIClient()
    stranger.credentials(HTTP_AUTHORIZATION="Bearer shoal_never")
    assert stranger.get("/api/v1/models").status_code == 401
    assert Event.objects.filter(verb="token.refused").count() == 5
