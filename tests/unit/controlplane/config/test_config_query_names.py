"""Every route of the OpenAPI document refuses a query parameter that the document does not list."""

import re
from typing import Any

import pytest
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core.query_strings import names_known

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


Names = dict[str, bool]


def operations() -> list[tuple[str, str, Names]]:
    """Method, path with something for each variable, and the query parameters listed there, with
    whether each is a list."""
    document: dict[str, Any] = SchemaGenerator().get_schema(public=True)
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parameters = operation.get("parameters", [])
            numbers = {p["name"] for p in parameters if p["schema"].get("type") == "integer"}
            filled = re.sub(r"\{(\w+)\}", lambda m: "1" if m[1] in numbers else "some-name", path)  # noqa: B023
            names = {
                p["name"]: p["schema"].get("type") == "array"
                for p in sorted(parameters, key=lambda p: p["name"])
                if p["in"] == "query"
            }
            found.append((method, filled, names))
    return found


OPERATIONS = operations()
every = pytest.mark.parametrize(
    ("method", "path", "names"), OPERATIONS, ids=[f"{m} {p}" for m, p, _ in OPERATIONS]
)


@every
def test_a_route_knows_what_the_document_lists(method: str, path: str, names: Names) -> None:
    assert names_known(resolve(path).func.cls, method) == names


@every
def test_a_name_that_is_not_listed_is_refused(
    admin: User, method: str, path: str, names: Names
) -> None:
    client = APIClient(raise_request_exception=False)
    client.force_authenticate(admin)
    answer = client.generic(method.upper(), f"{path}?no_such_filter=1", content_type="")
    body = answer.json()
    assert (answer.status_code, body["code"], body["field"]) == (
        400,
        "BadArgument",
        "no_such_filter",
    )
    (hint,) = body["hints"]
    if names:
        assert hint == f"Known here: {', '.join(names)}."
    else:
        assert "takes none" in hint


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("stat=Failed", "stat", "Did you mean `state`?"),
        ("State=Failed", "State", "Did you mean `state`?"),
        ("limit=5&limit=500", "limit", "given 2 times"),
        ("tag.team=vision", "tag.team", "no query parameter"),
        ("%5Bstate%5D=x", "[state]", "no query parameter"),
        ("=", "", "no query parameter"),
    ],
)
def test_the_problem_says_what_was_meant(api: APIClient, query: str, field: str, says: str) -> None:
    answer = api.get(f"/api/v1/operations?{query}")
    body = answer.json()
    assert (answer.status_code, body["field"]) == (400, field)
    assert says in " ".join([body["detail"], *body["hints"]])


def test_a_list_may_come_piece_by_piece(admin_api: APIClient) -> None:
    answer = admin_api.get("/api/v1/events?severity=error&severity=warning")
    assert answer.status_code == 200
    for event in answer.json()["items"]:
        assert event["severity"] in ("error", "warning")


def test_names_that_stand_for_many_are_known(api: APIClient) -> None:
    assert api.get("/api/v1/models?tag.team=vision&tag.stage=x").status_code == 200
    assert api.get("/api/v1/models?tag.=vision").status_code == 400
    assert api.get("/api/v1/models?tagteam=vision").status_code == 400


@pytest.mark.parametrize("path", ["/api/v1/endpoints/x/deployments/blue", "/api/v1/nodes/x"])
def test_what_is_neither_yes_nor_no_is_refused(admin_api: APIClient, path: str) -> None:
    answer = admin_api.delete(f"{path}?force=yes")
    assert (answer.status_code, answer.json()["field"]) == (400, "force")
    assert "'yes', expected true or false" in answer.json()["detail"]


@pytest.mark.parametrize("wait", ["soon", "nan", "-1", "inf"])
def test_a_wait_that_is_no_time_is_refused(api: APIClient, wait: str) -> None:
    answer = api.get(f"/api/v1/operations/x?wait={wait}")
    assert (answer.status_code, answer.json()["field"]) == (400, "wait")
    assert f"'{wait}', expected seconds" in answer.json()["detail"]
