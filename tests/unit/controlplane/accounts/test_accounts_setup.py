"""The first run: a link that gives the first administrator a name and a password, once."""

from typing import Any

import pytest
from django.test import Client

from controlplane.accounts import selectors
from controlplane.accounts.models import SetupToken, User
from controlplane.accounts.services import administrator_ensure, setup_token_make
from controlplane.accounts.types import PER_USER
from controlplane.core.models import Event

PASSWORD = "correct horse battery"


@pytest.fixture
def first(db: None) -> tuple[str, str]:
    """The token of the link, and the password that was printed beside it."""
    user, password = administrator_ensure(username="admin")
    return setup_token_make(user=user), password or ""


def finish(client: Client, token: str, **values: str) -> dict[str, Any]:
    body = {"token": token, "username": "grace", "password": PASSWORD, **values}
    answer = client.post("/api/v1/setup", body, content_type="application/json")
    return {**answer.json(), "http": answer.status_code}


def is_open() -> bool:
    return bool(Client().get("/api/v1/setup").json()["open"])


def sign_in(username: str, password: str) -> int:
    body = {"username": username, "password": password}
    return Client().post("/api/v1/session", body, content_type="application/json").status_code


def test_the_link_names_the_administrator_and_signs_in(first: tuple[str, str]) -> None:
    token, printed = first
    assert is_open()
    client = Client()
    answer = finish(client, token)
    assert (answer["http"], answer["user"]["username"], answer["user"]["role"]) == (
        200,
        "grace",
        "admin",
    )
    assert client.get("/api/v1/users").status_code == 200
    assert [sign_in("grace", PASSWORD), sign_in("admin", printed), sign_in("grace", printed)] == [
        200,
        401,
        401,
    ]
    assert User.objects.count() == 1
    assert token not in str(list(Event.objects.values("message", "data", "subject")))


def test_it_works_once(first: tuple[str, str]) -> None:
    token, _ = first
    assert finish(Client(), token)["http"] == 200
    again = finish(Client(), token, username="eve")
    assert (again["http"], again["code"]) == (404, "SetupClosed")
    assert not is_open()
    assert not SetupToken.objects.exists()


def test_whoever_signed_in_with_the_printed_password_needs_no_link(first: tuple[str, str]) -> None:
    token, printed = first
    assert sign_in("admin", printed) == 200
    assert not is_open()
    assert finish(Client(), token)["code"] == "SetupClosed"


@pytest.mark.parametrize(
    ("values", "status", "code", "field"),
    [
        ({"token": "shoal_guessed"}, 401, "SetupTokenWrong", "token"),
        ({"password": "short"}, 400, "PasswordRefused", "password"),
        ({"username": "a b"}, 400, "BadArgument", "username"),
    ],
)
def test_what_does_not_fit_leaves_the_link_open(
    first: tuple[str, str], values: dict[str, str], status: int, code: str, field: str
) -> None:
    answer = finish(Client(), **{"token": first[0], **values})
    assert (answer["http"], answer["code"], answer["field"]) == (status, code, field)
    assert is_open()
    assert finish(Client(), first[0])["http"] == 200


def test_guessing_is_answered_ever_more_slowly(first: tuple[str, str]) -> None:
    for _ in range(PER_USER.free_attempts):
        assert finish(Client(), "shoal_guessed")["code"] == "SetupTokenWrong"
    slowed = finish(Client(), first[0])
    assert (slowed["http"], slowed["code"]) == (429, "TooManyAttempts")
    assert is_open()


def test_a_foreign_page_cannot_use_it(first: tuple[str, str]) -> None:
    answer = Client().post("/api/v1/setup", "{}", content_type="text/plain")
    assert answer.status_code == 415


def test_nothing_is_open_without_a_link(db: None) -> None:
    administrator_ensure(username="admin")
    assert selectors.setup_user() is None
    assert finish(Client(), "shoal_x")["code"] == "SetupClosed"
