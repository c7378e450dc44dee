"""Accounts of programs: a role, tokens that end and are renewed, and no way further."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.services import administrator_ensure
from controlplane.core.models import Event

URL = "/api/v1/service-accounts"


def made(api: APIClient, name: str = "ci", role: str = "deployer", **more: Any) -> dict[str, Any]:
    answer = api.post(URL, {"name": name, "role": role, **more})
    assert answer.status_code == 201, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def program(token: str) -> APIClient:
    client = APIClient()
    client.default_format = "json"
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def days_left(shown: dict[str, Any]) -> list[float]:
    rows = ApiToken.objects.filter(prefix__in=[token["prefix"] for token in shown["tokens"]])
    ends = [row.expires_at for row in rows.order_by("pk")]
    return [round((end - timezone.now()) / timedelta(days=1), 2) for end in ends if end]


def test_a_token_is_shown_once_works_with_the_role_and_ends(admin_api: APIClient) -> None:
    account = made(admin_api)
    assert days_left(account) == [90]
    assert program(account["token"]).get("/api/v1/models").status_code == 200
    assert program(account["token"]).get("/api/v1/users").status_code == 403
    shown = admin_api.get(f"{URL}/ci").json()
    assert set(shown) == {"name", "role", "created_at", "tokens"}
    assert shown["tokens"][0]["last_used_at"] is not None
    assert account["token"] not in str(shown)
    ApiToken.objects.filter(user__username="ci").update(expires_at=timezone.now())
    assert program(account["token"]).get("/api/v1/models").status_code == 401
    assert admin_api.get(f"{URL}/ci").json()["tokens"] == []


def test_rotation_leaves_the_older_token_for_as_long_as_is_said(admin_api: APIClient) -> None:
    first = made(admin_api)["token"]
    second = admin_api.post(f"{URL}/ci/rotate", {"overlap_s": 3600, "days": 30}).json()
    assert days_left(second) == [0.04, 30]
    for token in (first, second["token"]):
        assert program(token).get("/api/v1/models").status_code == 200
    # an overlap lengthens nothing
    third = admin_api.post(f"{URL}/ci/rotate", {"overlap_s": 86_400}).json()
    assert days_left(third) == [0.04, 1, 90]
    fourth = admin_api.post(f"{URL}/ci/rotate", {"overlap_s": 0}).json()
    assert days_left(fourth) == [90]
    assert program(third["token"]).get("/api/v1/models").status_code == 401


@pytest.mark.parametrize(
    ("path", "body"), [("", {"name": "ci", "role": "viewer"}), ("/old/rotate", {})]
)
def test_no_token_lives_longer_than_the_setting(
    admin_api: APIClient, settings: Settings, path: str, body: dict[str, Any]
) -> None:
    made(admin_api, "old")
    settings.SHOAL_SERVICE_TOKEN_MAX_DAYS = 30
    refused = admin_api.post(f"{URL}{path}", {**body, "days": 31})
    assert (refused.status_code, refused.json()["code"]) == (400, "TokenTooLong")
    assert refused.json()["field"] == "days"
    assert days_left(admin_api.post(f"{URL}{path}", body).json())[-1] == 30  # the default, capped


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "tokens", {"name": "for ever"}),
        ("get", "tokens", None),
        ("post", "session/password", {"current": "x", "password": "long enough now"}),
        ("get", "sessions", None),
    ],
)
def test_a_program_makes_itself_nothing_that_lasts(
    admin_api: APIClient, method: str, path: str, body: Any
) -> None:
    client = program(made(admin_api, role="admin")["token"])
    answer = getattr(client, method)(f"/api/v1/{path}", body)
    assert (answer.status_code, answer.json()["code"]) == (403, "Forbidden")
    assert "account" not in client.get("/api/v1/session").json()["user"]["permissions"]


def test_it_is_no_person(admin: User, admin_api: APIClient) -> None:
    made(admin_api, role="admin")
    assert "ci" not in str(admin_api.get("/api/v1/users").json())
    for method, path, body in (
        ("patch", "ci", {"sign_in": "password"}),
        ("patch", "ci", {"active": False}),
        ("post", "ci/password", {"password": "long enough now"}),
    ):
        answer = getattr(admin_api, method)(f"/api/v1/users/{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (404, "UserNotFound")
    body = {"username": "ci", "password": "!"}
    assert (
        Client().post("/api/v1/session", body, content_type="application/json").status_code == 401
    )
    # a program that may administer is not the somebody who must remain
    last = admin_api.patch("/api/v1/users/ada", {"role": "viewer"})
    assert (last.status_code, last.json()["code"]) == (409, "LastAdministrator")
    assert administrator_ensure(username="admin")[0] == admin


def test_a_person_is_no_service_account(admin_api: APIClient, deployer: User) -> None:
    for method, path in (("get", ""), ("delete", ""), ("post", "/rotate")):
        answer = getattr(admin_api, method)(f"{URL}/dora{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "ServiceAccountNotFound")
    taken = admin_api.post(URL, {"name": "dora", "role": "viewer"})
    assert (taken.status_code, taken.json()["code"]) == (409, "NameTaken")


def test_another_role_counts_at_once_and_the_end_is_for_good(admin_api: APIClient) -> None:
    client = program(made(admin_api, role="admin")["token"])
    assert client.get("/api/v1/users").status_code == 200
    assert admin_api.patch(f"{URL}/ci", {"role": "viewer"}).json()["role"] == "viewer"
    assert client.get("/api/v1/users").status_code == 403
    assert admin_api.delete(f"{URL}/ci").status_code == 204
    assert client.get("/api/v1/models").status_code == 401
    assert admin_api.get(URL).json()["items"] == []
    again = admin_api.post(URL, {"name": "ci", "role": "viewer"})
    assert (again.status_code, again.json()["code"]) == (409, "NameTaken")


def test_all_of_it_is_on_record_without_the_token(admin_api: APIClient) -> None:
    first = made(admin_api)["token"]
    second = admin_api.post(f"{URL}/ci/rotate", {}).json()["token"]
    admin_api.patch(f"{URL}/ci", {"role": "viewer"})
    admin_api.delete(f"{URL}/ci")
    rows = Event.objects.filter(verb__startswith="service_account.").order_by("seq")
    assert [row.verb.partition(".")[2] for row in rows] == [
        "created",
        "rotated",
        "updated",
        "deleted",
    ]
    assert {(row.actor, row.subject) for row in rows} == {("ada", "user/ci")}
    told = str([(row.message, row.data) for row in Event.objects.all()])
    assert first not in told
    assert second not in told
