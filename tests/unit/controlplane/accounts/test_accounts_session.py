"""Signing in: with a password, throttled, by cookie with CSRF, or by token."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts import selectors
from controlplane.accounts.errors import TooManyAttempts
from controlplane.accounts.models import ApiToken, Membership, User
from controlplane.accounts.services import administrator_ensure, token_replace
from controlplane.accounts.services.sign_in_throttle import attempt_begin
from controlplane.accounts.types import PER_ADDRESS, PER_USER, BackOff
from controlplane.core.models import Event

PASSWORD = "correct horse battery"


def sign_in(client: Client, username: str, password: str) -> dict[str, object]:
    answer = client.post(
        "/api/v1/session",
        {"username": username, "password": password},
        content_type="application/json",
    )
    return {**answer.json(), "http": answer.status_code}


def wait_s(username: str, address: str = "127.0.0.1", after_s: float = 0) -> int:
    """Counts as an attempt if there is no wait."""
    try:
        attempt_begin(
            username=username, address=address, now=timezone.now() + timedelta(seconds=after_s)
        )
    except TooManyAttempts as error:
        return int(error.extra["retry_after_s"])
    return 0


def test_a_stranger_learns_only_that_he_is_one(db: None) -> None:
    answer = Client().get("/api/v1/session")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["authenticated"], body["user"]) == (False, None)
    assert body["csrf_token"]
    refused = Client().get("/api/v1/models")
    assert refused.status_code == 401
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["code"] == "Unauthenticated"


def test_a_session_reads_freely_and_writes_with_the_csrf_token(deployer: User) -> None:
    client = Client(enforce_csrf_checks=True)
    session = sign_in(client, "dora", PASSWORD)
    assert session["user"] == {
        "username": "dora",
        "role": "deployer",
        "permissions": ["read", "account", "invoke", "keys", "deploy"],
        "sign_in": "password",
        "projects": [],
        "second_factor": "off",
    }
    assert client.get("/api/v1/models").status_code == 200
    body = {"filename": "m.onnx", "size": 1}
    bare = client.post("/api/v1/uploads", body, content_type="application/json")
    assert (bare.status_code, bare.json()["code"]) == (403, "CsrfFailed")
    headers = {"X-CSRFToken": str(session["csrf_token"])}
    full = client.post("/api/v1/uploads", body, content_type="application/json", headers=headers)
    assert full.status_code == 201
    assert client.delete("/api/v1/session", headers=headers).status_code == 204
    assert client.get("/api/v1/models").status_code == 401


def test_a_foreign_page_cannot_sign_somebody_in(deployer: User) -> None:
    form = f'{{"username": "dora", "password": "{PASSWORD}"}}'
    answer = Client().post("/api/v1/session", form, content_type="text/plain")
    assert (answer.status_code, answer.json()["code"]) == (415, "UnsupportedMediaType")


def test_a_wrong_password_is_refused_and_on_record(deployer: User) -> None:
    answer = sign_in(Client(), "dora", "wrong")
    assert (answer["http"], answer["code"]) == (401, "BadCredentials")
    unknown = sign_in(Client(), "nobody", "wrong")
    assert unknown["detail"] == answer["detail"]
    event = Event.objects.get(verb="session.failed", subject="user/dora")
    assert event.data == {"address": "127.0.0.1", "by": "password", "code": "BadCredentials"}
    assert "wrong" not in str(event.message)


def test_too_many_wrong_passwords_have_to_wait_even_with_the_right_one(deployer: User) -> None:
    for _ in range(PER_USER.free_attempts):
        sign_in(Client(), "dora", "wrong")
    answer = sign_in(Client(), "dora", PASSWORD)
    assert (answer["http"], answer["code"]) == (429, "TooManyAttempts")
    assert answer["retry_after_s"] in {1, 2}
    assert wait_s("dora", address="10.0.0.9") > 0
    assert wait_s("dora", after_s=3) == 0
    assert wait_s("vera") == 0


def test_an_address_that_tries_many_names_has_to_wait(db: None) -> None:
    for i in range(PER_ADDRESS.free_attempts):
        sign_in(Client(), f"name-{i}", "wrong")
    assert wait_s("another-name") > 0


def test_a_successful_sign_in_forgives(deployer: User) -> None:
    for _ in range(PER_USER.free_attempts - 1):
        sign_in(Client(), "dora", "wrong")
    assert sign_in(Client(), "dora", PASSWORD)["http"] == 200
    sign_in(Client(), "dora", "wrong")
    assert wait_s("dora") == 0


@pytest.mark.parametrize(
    ("failures", "wait"), [(0, 0), (4, 0), (5, 2), (6, 4), (8, 16), (20, 300), (10**6, 300)]
)
def test_the_wait_doubles_up_to_five_minutes(failures: int, wait: int) -> None:
    assert BackOff(free_attempts=5).wait_s(failures) == wait


def test_a_token_is_shown_once_and_works_until_it_is_revoked(api: APIClient) -> None:
    made = api.post("/api/v1/tokens", {"name": "ci"}, format="json")
    assert made.status_code == 201
    clear = made.json()["token"]
    assert clear.startswith("shoal_")
    assert made.json()["prefix"] == clear[:12]
    listed = api.get("/api/v1/tokens").json()["items"]
    assert [item["name"] for item in listed] == ["ci", "test"]
    assert all("token" not in item for item in listed)
    assert not ApiToken.objects.filter(token_hash=clear).exists()
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert client.get("/api/v1/models").status_code == 200
    assert ApiToken.objects.get(name="ci").last_used_at is not None
    assert api.delete(f"/api/v1/tokens/{made.json()['id']}").status_code == 204
    assert client.get("/api/v1/models").status_code == 401


def test_nobody_sees_or_revokes_the_tokens_of_others(api: APIClient, viewer_api: APIClient) -> None:
    (mine,) = api.get("/api/v1/tokens").json()["items"]
    (hers,) = viewer_api.get("/api/v1/tokens").json()["items"]
    assert mine["id"] != hers["id"]
    answer = viewer_api.delete(f"/api/v1/tokens/{mine['id']}")
    assert (answer.status_code, answer.json()["code"]) == (404, "TokenNotFound")


@pytest.mark.parametrize(
    "value", ["Bearer shoal_nonsense", "Bearer other", "Basic dTpw", "Bearer", "shoal_x"]
)
def test_a_header_that_proves_nothing_is_refused(db: None, value: str) -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=value)
    answer = client.get("/api/v1/models")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_token_of_a_disabled_user_is_refused(api: APIClient, deployer: User) -> None:
    deployer.is_active = False
    deployer.save()
    assert api.get("/api/v1/models").status_code == 401


def test_the_first_administrator_is_made_once(
    db: None, client_of: Callable[[User], APIClient]
) -> None:
    user, password = administrator_ensure(username="admin")
    assert password is not None
    assert sign_in(Client(), "admin", password)["http"] == 200
    assert administrator_ensure(username="admin") == (user, None)
    first = token_replace(user=user, name="this machine", actor="system")
    second = token_replace(user=user, name="this machine", actor="system")
    assert selectors.token_get(first) is None
    assert selectors.token_get(second) is not None


def test_a_write_without_the_csrf_token_says_what_to_do(deployer: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(deployer)
    answer = client.post("/api/v1/tokens", {"name": "ci"}, content_type="application/json")
    told = answer.json()
    assert (answer.status_code, told["code"], told["field"]) == (403, "CsrfFailed", "X-CSRFToken")
    assert any("Reload" in hint for hint in told["hints"])
    assert not any("role" in hint for hint in told["hints"])


def test_the_session_tells_of_the_roles_in_projects(api: APIClient, deployer: User) -> None:
    Membership.objects.create(project_id="default", user=deployer, role="invoker")
    assert api.get("/api/v1/session").json()["user"]["projects"] == [
        {"name": "default", "role": "invoker", "permissions": ["read", "invoke"]}
    ]
