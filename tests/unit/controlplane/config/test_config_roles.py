"""Every route × every role, generated from the URL conf. A route without a row here fails.

A row names the permission; which role has it is said once more below, in plain words, so that a
slip in the policy cannot hide in the test.
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

R, A, V, K, D, N, X = "read", "account", "invoke", "keys", "deploy", "operate", "administer"
C = "code:upload"
OPEN = "open"  # to strangers as well

MATRIX: dict[str, dict[str, str]] = {
    "setup": {"GET": OPEN, "POST": OPEN},
    "session": {"GET": OPEN, "POST": OPEN, "DELETE": OPEN},
    "session/password": {"POST": A},
    "sessions": {"GET": A},
    "sessions/<int:session_id>": {"DELETE": A},
    "tokens": {"GET": A, "POST": A},
    "tokens/<int:token_id>": {"DELETE": A},
    "users": {"GET": X, "POST": X},
    "users/<str:username>": {"GET": X, "PATCH": X},
    "users/<str:username>/password": {"POST": X},
    "uploads": {"POST": D},
    "uploads/<str:upload_id>": {"GET": R, "PATCH": D, "DELETE": D},
    "uploads/<str:upload_id>/complete": {"POST": D},
    "uploads/<str:upload_id>/files": {"GET": R},
    "uploads/<str:upload_id>/files/<str:sha256>": {"GET": R, "PATCH": D},
    "models": {"GET": R, "POST": D},
    "models/<str:name>": {"GET": R, "PATCH": D, "DELETE": D},
    "models/<str:name>/archive": {"POST": D},
    "models/<str:name>/restore": {"POST": D},
    "models/<str:name>/versions": {"GET": R, "POST": D},
    "models/<str:name>/versions/<str:version>": {"GET": R, "PATCH": D, "DELETE": D},
    "models/<str:name>/versions/<str:version>/archive": {"POST": D},
    "models/<str:name>/versions/<str:version>/restore": {"POST": D},
    "models/<str:name>/versions/<str:version>/approve": {"POST": C, "DELETE": C},
    "models/<str:name>/aliases/<str:alias>": {"PUT": D, "DELETE": D},
    "models/<str:name>/versions/<str:version>/usage": {"GET": R},
    "models/<str:name>/versions/<str:version>/files": {"GET": R},
    "models/<str:name>/versions/<str:version>/files/<path:path>": {"GET": R},
    "models/<str:name>/versions/<str:version>/archive.zip": {"GET": R},
    "models/<str:name>/versions/<str:version>/repo-models": {"GET": R},
    "models/<str:name>/versions/<str:version>/repo-models/<str:repo_model>/config": {"GET": R},
    "models/<str:name>/versions/<str:version>/config-revisions": {"GET": R, "POST": D},
    "models/<str:name>/versions/<str:version>/config-revisions/<int:number>": {"GET": R},
    "models/<str:name>/versions/<str:version>/config-revisions/<int:number>/diff": {"GET": R},
    "storage": {"GET": R},
    "storage/collect": {"POST": X},
    "config/validate": {"POST": D},
    "config/render": {"POST": D},
    "join-tokens": {"GET": N, "POST": N},
    "join-tokens/<int:token_id>": {"GET": N, "DELETE": N},
    "endpoints": {"GET": R, "POST": D},
    "endpoints/<str:endpoint>": {"GET": R, "PUT": D, "PATCH": D, "DELETE": D},
    "endpoints/<str:endpoint>/traffic": {"GET": R, "PUT": D, "PATCH": D},
    "endpoints/<str:endpoint>/mirror": {"GET": R, "PUT": D, "PATCH": D},
    "endpoints/<str:endpoint>/keys/list": {"POST": K},
    "endpoints/<str:endpoint>/keys/regenerate": {"POST": K},
    "endpoints/<str:endpoint>/token": {"POST": K},
    "endpoints/<str:endpoint>/token/revoke": {"POST": K},
    "endpoints/<str:endpoint>/openapi.json": {"GET": R},
    "endpoints/<str:endpoint>/snippets": {"GET": R},
    "endpoints/<str:endpoint>/metrics": {"GET": R},
    "endpoints/<str:endpoint>/deployments": {"GET": R, "POST": D},
    "endpoints/<str:endpoint>/deployments/<str:deployment>": {
        "GET": R,
        "PUT": D,
        "PATCH": D,
        "DELETE": D,
    },
    "endpoints/<str:endpoint>/deployments/<str:deployment>/logs": {"GET": R},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/scale": {"POST": D},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/replicas": {"GET": R},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/revisions": {"GET": R},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/update": {"POST": D},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/rollback": {"POST": D},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/restart": {"POST": D},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/stop": {"POST": D},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/start": {"POST": D},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/placement": {"GET": R},
    "endpoints/<str:endpoint>/deployments/<str:deployment>/models/<str:repo_model>/config": {
        "GET": R
    },
    "drafts": {"GET": R, "POST": D},
    "drafts/<str:draft_id>": {"GET": R, "PUT": D, "DELETE": D},
    "test-cases": {"GET": R, "POST": V},
    "test-cases/<str:case_id>": {"GET": R, "PUT": V, "DELETE": V},
    "instance-types": {"GET": R, "POST": X},
    "instance-types/<str:name>": {"GET": R, "PATCH": X, "DELETE": X},
    "placement/preview": {"POST": D},
    "try-loads": {"GET": R, "POST": D},
    "try-loads/<str:try_load_id>": {"GET": R},
    "try-loads/<str:try_load_id>/cancel": {"POST": D},
    "deploy": {"POST": D},
    "operations": {"GET": R},
    "operations/<str:operation_id>": {"GET": R},
    "operations/<str:operation_id>/cancel": {"POST": D},
    "operations/<str:operation_id>/retry": {"POST": D},
    "events": {"GET": R},
    "events/export": {"GET": N},
    "events/verify": {"GET": N},
    "nodes": {"GET": R},
    "nodes/<str:node>": {"GET": R, "PATCH": N, "DELETE": N},
    "nodes/<str:node>/cache": {"GET": R},
    "nodes/<str:node>/cordon": {"POST": N},
    "nodes/<str:node>/uncordon": {"POST": N},
    "nodes/<str:node>/drain": {"POST": N},
    "drains": {"POST": N},
    "metrics": {"GET": R},
    "metrics/targets": {"GET": R},
    "metrics/query": {"GET": R},
    "overview": {"GET": R},
    "system": {"GET": R},
}
MAY: dict[str, set[str]] = {
    "viewer": {R, A},
    "invoker": {R, A, V},
    "deployer": {R, A, V, K, D},
    "operator": {R, A, V, K, D, N},
    "admin": {R, A, V, K, D, N, X, C},
}
# A token limited to one of these may do this and read; never make tokens.
SCOPED: dict[str, set[str]] = {scope: {R, scope} for scope in (R, V, K, D, N, X, C)}


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
