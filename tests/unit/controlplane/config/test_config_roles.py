"""Every route × every role, generated from the URL conf. A route without a row fails.

The rows are in ``tests.support.role_matrix``.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient
from rest_framework.views import APIView

from controlplane.accounts.models import User
from controlplane.accounts.services import token_create
from tests.support.people import make_user
from tests.support.role_matrix import MATRIX, MAY, OPEN, SCOPED, D, N, R, X


def patterns(route: str = "", found: Any = None) -> Iterator[tuple[str, Any]]:
    for entry in (found or get_resolver()).url_patterns:
        path = route + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from patterns(path, entry)
        elif isinstance(entry, URLPattern):
            yield path, entry.callback


@cache
def routes() -> dict[str, type[APIView]]:
    """The REST API's routes; its own description, which is no view of ours, apart."""
    return {
        path.removeprefix("api/v1/"): callback.cls
        for path, callback in patterns()
        if path.startswith("api/v1/") and path != "api/v1/openapi.json"
    }


def methods(view: type[APIView]) -> set[str]:
    return {
        name.upper() for name in ("get", "post", "put", "patch", "delete") if hasattr(view, name)
    }


CALLS = [
    (route, method, permission)
    for route, row in MATRIX.items()
    for method, permission in row.items()
]


def call(client: APIClient, method: str, route: str) -> int:
    """Nothing of that name exists and the body is empty: no call gets far enough to change much."""
    path = re.sub(r"<int:[^>]*>", "9999", route)
    path = re.sub(r"<[^>]*>", "nothing", path)
    client.raise_request_exception = False
    status: int = client.generic(method, f"/api/v1/{path}", "{}", "application/json").status_code
    return status


def answers(client: APIClient, granted: set[str]) -> list[str]:
    """Every call whose answer is not what ``granted`` promises."""
    wrong = []
    for route, method, permission in CALLS:
        if permission == OPEN:
            continue
        status = call(client, method, route)
        if (status == 403) == (permission in granted) or status == 401 or status >= 500:
            wrong.append(f"{method} {route} needs {permission}: {status}")
    return wrong


def test_every_route_and_method_has_a_row() -> None:
    there = {route: methods(view) for route, view in routes().items()}
    assert {route: set(row) for route, row in MATRIX.items()} == there


def test_the_openapi_document_speaks_of_the_same_routes() -> None:
    documented = SchemaGenerator().get_schema(public=True)["paths"]
    shown = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", f"/api/v1/{route}") for route in MATRIX}
    assert set(documented) == shown


def test_views_use_no_words_that_the_policy_does_not_know() -> None:
    known = {"read_permission", "write_permission"}
    strange = {
        f"{route}: {name}"
        for route, view in routes().items()
        for name in vars(view)
        if name.endswith(("_role", "_permission")) and name not in known
    }
    assert strange == set()


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_stranger_gets_in_nowhere() -> None:
    let_in = [
        f"{method} {route}"
        for route, method, permission in CALLS
        if permission != OPEN and call(APIClient(), method, route) != 401
    ]
    assert let_in == []


@pytest.mark.django_db(databases=["default", "metrics"])
@pytest.mark.parametrize("role", User.Role.values)
def test_a_role_may_do_what_its_row_says(role: str, client_of: Callable[[User], APIClient]) -> None:
    assert answers(client_of(make_user("somebody", role)), MAY[role]) == []


@pytest.mark.django_db(databases=["default", "metrics"])
@pytest.mark.parametrize("scope", sorted(SCOPED))
def test_a_limited_token_of_an_administrator_may_do_what_its_scope_says(scope: str) -> None:
    user = make_user("ada", User.Role.ADMIN)
    _, clear = token_create(user=user, name="limited", actor="ada", scopes=[scope])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert answers(client, SCOPED[scope]) == []


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_scope_gives_nothing_that_the_role_does_not_have() -> None:
    user = make_user("vera", User.Role.VIEWER)
    _, clear = token_create(user=user, name="hopeful", actor="vera", scopes=[X, D, N])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert answers(client, {R}) == []


def test_a_refusal_names_the_role_that_is_needed(viewer_api: APIClient) -> None:
    problem = viewer_api.post("/api/v1/nodes/n1/cordon").json()
    assert (problem["status"], problem["code"]) == (403, "Forbidden")
    assert problem["detail"] == "This needs the role operator or a higher one; vera is viewer."
    assert (problem["needed_role"], problem["needed_permission"]) == ("operator", "operate")


def test_no_role_is_promised_above_admin(viewer_api: APIClient) -> None:
    problem = viewer_api.post("/api/v1/storage/collect").json()
    assert problem["detail"] == "This needs the role admin; vera is viewer."
