"""Every route of the OpenAPI document, against every role: denied by default."""

import re
from functools import cache

import pytest
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

OPEN = {"/api/v1/session"}  # signing in, and asking who one is
OWN = {"/api/v1/tokens", "/api/v1/tokens/{token_id}"}  # everybody manages their own
ADMIN = {
    "/api/v1/instance-types",
    "/api/v1/instance-types/{name}",
    "/api/v1/join-tokens",
    "/api/v1/nodes/{node}",
    "/api/v1/nodes/{node}/cordon",
    "/api/v1/nodes/{node}/uncordon",
    "/api/v1/nodes/{node}/drain",
    "/api/v1/storage/collect",
}


@cache
def routes() -> list[tuple[str, str]]:
    paths = SchemaGenerator().get_schema(public=True)["paths"]
    return [(method, path) for path, methods in paths.items() for method in methods]


def call(client: APIClient, method: str, path: str) -> int:
    concrete = re.sub(r"{([^}]*id|number)}", "0", path)
    concrete = re.sub(r"{[^}]*}", "nothing", concrete)
    return client.generic(method.upper(), concrete, "{}", "application/json").status_code


def test_the_document_lists_the_routes_that_this_test_speaks_of() -> None:
    paths = {path for _, path in routes()}
    assert paths >= OPEN | OWN | ADMIN
    assert len(paths) > 30


def test_a_stranger_gets_in_nowhere(db: None) -> None:
    let_in = [
        (method, path)
        for method, path in routes()
        if path not in OPEN and call(APIClient(), method, path) != 401
    ]
    assert let_in == []


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_viewer_writes_nothing(viewer_api: APIClient) -> None:
    viewer_api.raise_request_exception = False
    let_in = [
        (method, path)
        for method, path in routes()
        if method != "get" and path not in OPEN | OWN and call(viewer_api, method, path) != 403
    ]
    assert let_in == []


def test_a_deployer_adds_and_removes_no_nodes(api: APIClient) -> None:
    let_in = [
        (method, path)
        for method, path in routes()
        if method != "get" and path in ADMIN and call(api, method, path) != 403
    ]
    assert let_in == []
