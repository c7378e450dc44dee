"""Who may ask which of Azure's routes; that they are off unless wanted; and never a page."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.accounts.services import token_create
from controlplane.azure import urls
from tests.support.azure_paths import STORE, WORKSPACE
from tests.support.people import make_user
from tests.support.role_matrix import MAY, SCOPED, D, K, R

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
# By what is left of a route below the workspace, the store or the location.
MATRIX: dict[str, dict[str, str]] = {
    "": {"GET": R},
    "datastores": {"GET": R},
    "datastores/<str:datastore_name>": {"GET": R},
    "models": {"GET": R},
    "models/<str:name>": {"GET": R, "PUT": D},
    "models/<str:name>/versions": {"GET": R},
    "models/<str:name>/versions/<str:version>": {"GET": R, "PUT": D},
    "environments": {"GET": R},
    "environments/<str:name>": {"GET": R, "PUT": D},
    "environments/<str:name>/versions": {"GET": R},
    "environments/<str:name>/versions/<str:version>": {"GET": R, "PUT": D},
    "codes/<str:name>/versions": {"GET": R},
    "codes/<str:name>/versions/<str:version>": {"GET": R, "PUT": D},
    "codes/<str:name>/versions/<str:version>/startPendingUpload": {"POST": D},
    "data/<str:name>/versions/<str:version>": {"PUT": D},
    "onlineEndpoints": {"GET": R},
    "onlineEndpoints/<str:endpoint>": {"GET": R, "PUT": D, "PATCH": D, "DELETE": D},
    "onlineEndpoints/<str:endpoint>/listKeys": {"POST": K},
    "onlineEndpoints/<str:endpoint>/regenerateKeys": {"POST": K},
    "onlineEndpoints/<str:endpoint>/token": {"POST": K},
    "onlineEndpoints/<str:endpoint>/deployments": {"GET": R},
    "onlineEndpoints/<str:endpoint>/deployments/<str:deployment>": {
        "GET": R,
        "PUT": D,
        "PATCH": D,
        "DELETE": D,
    },
    "onlineEndpoints/<str:endpoint>/deployments/<str:deployment>/getLogs": {"POST": R},
    "mfeOperationsStatus/<str:operation_id>": {"GET": R},
    "mfeOperationResults/keys/<str:endpoint>/<int:until>": {"GET": R},
    "store/<str:container>": {"GET": R},
    "store/<str:container>/<path:blob>": {"PUT": D, "HEAD": R},
}
STARTS = (urls.WORKSPACE, urls.LOCATION, urls.STORE)


def routes() -> Iterator[tuple[str, str, Any]]:
    """What is left of it, the whole route, the class of its view."""
    for entry in urls.urlpatterns:
        assert isinstance(entry, URLPattern)
        route = str(entry.pattern)
        start = next((start for start in STARTS if route.startswith(start)), None)
        if start is not None:
            rest = route.removeprefix(start).lstrip("/")
            if start == urls.STORE:
                rest = f"store/{rest}"
            yield rest, route, getattr(entry.callback, "cls", None)


def calls() -> Iterator[tuple[str, str, str]]:
    """Method, path and the permission that it needs."""
    for rest, route, _ in routes():
        path = re.sub(r"<int:[^>]*>", "9999", route)
        path = re.sub(r"<str:container>", "code-nothing-1", path)
        path = "/" + re.sub(r"<[^>]*>", "nothing", path)
        for method, permission in MATRIX[rest].items():
            yield method, path, permission


def ask(client: APIClient, method: str, path: str) -> Any:
    client.raise_request_exception = False
    return client.generic(method, path, "{}", "application/json")


def wrong(client: APIClient, granted: set[str]) -> list[str]:
    found = []
    for method, path, permission in calls():
        status = ask(client, method, path).status_code
        if (status == 403) == (permission in granted) or status == 401 or status >= 500:
            found.append(f"{method} {path} needs {permission}: {status}")
    return found


def test_every_route_and_method_has_a_row() -> None:
    names = ("get", "head", "post", "put", "patch", "delete")
    there = {
        rest: {
            name.upper()
            for name in names
            # REST framework answers HEAD by GET
            if hasattr(view, name) and not (name == "head" and hasattr(view, "get"))
        }
        for rest, _, view in routes()
    }
    assert {rest: set(row) for rest, row in MATRIX.items()} == there


@pytest.mark.parametrize("role", User.Role.values)
def test_a_role_may_do_what_its_row_says(role: str, client_of: Callable[[User], APIClient]) -> None:
    assert wrong(client_of(make_user("somebody", role)), MAY[role]) == []


@pytest.mark.parametrize("scope", [R, D, K])
def test_a_limited_token_may_do_what_its_scope_says(scope: str) -> None:
    user = make_user("ada", User.Role.ADMIN)
    _, clear = token_create(user=user, name="limited", actor="ada", scopes=[scope])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert wrong(client, SCOPED[scope]) == []


def test_a_stranger_gets_in_nowhere() -> None:
    for method, path, _ in calls():
        answer = ask(APIClient(), method, path)
        assert answer.status_code == 401, (method, path)
        if method != "HEAD":
            assert answer.json()["error"]["code"] == "Unauthenticated"


def test_a_browsers_session_proves_nothing(admin: User) -> None:
    browser = Client()
    browser.force_login(admin)
    assert browser.get(WORKSPACE).status_code == 401


def test_off_all_of_it_is_a_404_in_json(admin_api: APIClient, settings: Settings) -> None:
    settings.SHOAL_AZURE_API = False
    for method, path, _ in calls():
        answer = ask(admin_api, method, path)
        assert answer.status_code == 404, (method, path)
        if method != "HEAD":
            assert "SHOAL_AZURE_API" in answer.content.decode()


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path",
    ["/subscriptions", "/subscriptions/s", f"{WORKSPACE}/jobs", f"{WORKSPACE}/", "/azureml/x",
     f"{STORE}", "/subscriptions/s/resourceGroups/r"],
)  # fmt: skip
def test_what_is_not_there_is_never_a_page(
    settings: Settings, on: bool, method: str, path: str
) -> None:
    settings.SHOAL_AZURE_API = on
    answer = APIClient(enforce_csrf_checks=True).generic(method, path, b"{}", "application/json")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")
    assert answer.json()["error"]["code"] == "ResourceNotFound"
