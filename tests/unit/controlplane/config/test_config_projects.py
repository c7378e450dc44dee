"""Every route × two projects: whoever has a role in one of them meets nothing of the other.

Generated from the URL conf and the role × route matrix, as ``test_config_roles`` is.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import httpx
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.apps import apps
from django.db import models
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, Project, User
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.accounts.scope import NOTHING, OutOfScope, ScopedManager, scope_now, within
from controlplane.accounts.services import token_create
from controlplane.config.http_application import http_application
from controlplane.deployments.models import Endpoint
from controlplane.operations.models import Operation
from controlplane.registry.models import Model
from tests.support.people import make_user
from tests.support.project_world import OURS, THEIRS, Things, counts, member, project_add
from tests.support.role_matrix import MATRIX, MAY, A
from tests.unit.controlplane.config.test_config_roles import routes

Build = Callable[[User], APIClient]
PLACE: Final = re.compile(r"<(?:\w+:)?(\w+)>")

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])

# Of nobody's project, or of the caller alone: read by everybody.
SHARED: Final = {"instance-types/<str:name>", "alert-rules/<str:rule>"}
# What a body must have before the thing in the path is looked for.
BODIES: Final[dict[str, dict[str, Any]]] = {
    "POST endpoints/<str:endpoint>/rollouts": {"deployment": f"{THEIRS}-blue"},
    "PUT endpoints/<str:endpoint>/objectives/<str:objective>": {
        "kind": "availability",
        "target_percent": 99,
    },
    "POST endpoints/<str:endpoint>/test-cases/accept": {"cases": ["x"]},
    "PUT endpoints/<str:endpoint>/deployments/<str:deployment>/data/baseline": {
        "begin": "2026-01-01T00:00:00Z"
    },
    "PATCH endpoints/<str:endpoint>/deployments/<str:deployment>/data/baseline": {
        "window_hours": 6
    },
    "PUT alert-rules/<str:rule>/thresholds/<str:kind>/<str:name>": {"threshold": 5},
    "PUT endpoints/<str:endpoint>/traffic": {"traffic": {f"{THEIRS}-blue": 100}},
    "PATCH endpoints/<str:endpoint>/traffic": {"traffic": {f"{THEIRS}-blue": 0}},
    "PUT endpoints/<str:endpoint>/mirror": {"mirror_traffic": {}},
    "PATCH endpoints/<str:endpoint>/mirror": {"mirror_traffic": {}},
    "POST endpoints/<str:endpoint>/keys/regenerate": {"key_type": "primary"},
    "POST endpoints/<str:endpoint>/deployments": {"name": "green", "model": f"{OURS}-model"},
    "PUT endpoints/<str:endpoint>/deployments/<str:deployment>": {"model": f"{OURS}-model"},
    "PATCH endpoints/<str:endpoint>/deployments/<str:deployment>": {"description": "ours"},
    "POST endpoints/<str:endpoint>/deployments/<str:deployment>/scale": {"instance_count": 2},
    "POST endpoints/<str:endpoint>/deployments/<str:deployment>/update": {
        "environment": {"APP_A": "1"}
    },
    "POST models/<str:name>/versions": {"upload_id": f"{THEIRS}-upload"},
    "PATCH models/<str:name>": {"description": "ours"},
    "PATCH models/<str:name>/versions/<str:version>": {"lineage": {"run": "ours"}},
    "PATCH environments/<str:name>/versions/<str:version>": {"description": "ours"},
    "PUT models/<str:name>/aliases/<str:alias>": {"version": "1"},
    "POST models/<str:name>/versions/<str:version>/signatures": {"signature": "untrusted"},
    "POST models/<str:name>/versions/<str:version>/config-revisions": {"configs": {}},
    "PATCH endpoints/<str:endpoint>": {"description": "ours"},
    "POST endpoints/<str:endpoint>/deployments/<str:deployment>/sweeps": {"levels": [1]},
    "POST endpoints/<str:endpoint>/deployments/<str:deployment>/tunings": {"levels": [1]},
    "PUT drafts/<str:draft_id>": {"data": {}, "revision": 1},
    "PUT test-cases/<str:case_id>": {"name": "x", "model": "x", "inputs": []},
}
# A PUT makes what the caller does not see, and names are unique in the installation.
TAKEN: Final = {"PUT endpoints/<str:endpoint>"}


@pytest.fixture
def worlds(db: None) -> tuple[Things, Things]:
    return project_add(OURS), project_add(THEIRS)


def is_of_projects(route: str) -> bool:
    return issubclass(routes()[route], ProjectAPIView)


def calls() -> Iterator[tuple[str, str, str]]:
    for route, row in MATRIX.items():
        for method, permission in row.items():
            yield route, method, permission


def url(route: str, things: Things) -> str:
    return "/api/v1/" + PLACE.sub(lambda found: things.place(found[1], route), route)


def send(client: APIClient, method: str, path: str, body: Any = None) -> Any:
    client.raise_request_exception = False
    if method == "GET":
        return client.get(path)
    chunk = {"HTTP_UPLOAD_OFFSET": "0"} if "/uploads/" in path else {}
    return client.generic(method, path, _json(body or {}), "application/json", **chunk)


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


def text_of(response: Any) -> str:
    body = async_to_sync(_body)(response) if response.streaming else response.content
    return bytes(body).decode("latin-1")


async def _body(response: Any) -> bytes:
    return b"".join([piece async for piece in response])


def test_members_meet_only_views_of_projects(worlds: object, client_of: Build) -> None:
    """A route that says nothing of projects is shut for who has a role in some alone."""
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    open_to_members = [
        f"{method} {route}"
        for route, method, permission in calls()
        if not is_of_projects(route)
        and permission not in (A, "open")
        and send(client, method, url(route, _anything())).status_code != 403
    ]
    assert open_to_members == []


def _anything() -> Any:
    class Nothing:
        def place(self, name: str, route: str) -> str:
            return "9999"

    return Nothing()


def test_no_route_finds_what_is_in_another_project(
    worlds: tuple[Things, Things], client_of: Build
) -> None:
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    before = counts()
    found = []
    for route, method, permission in calls():
        shared = method == "GET" and route in SHARED
        if "<" not in route or not is_of_projects(route) or shared:
            continue
        said = f"{method} {route}"
        response = send(client, method, url(route, worlds[1]), BODIES.get(said))
        wanted = 403 if permission not in MAY[Membership.Role.DEPLOYER] else 404
        wanted = 409 if said in TAKEN else wanted
        if response.status_code != wanted:
            found.append(f"{said}: {response.status_code} {text_of(response)[:200]}")
    assert found == []
    assert counts() == before
    assert Endpoint.objects.get(name=f"{THEIRS}-endpoint").description == ""


def test_every_route_finds_what_is_in_the_own_project(
    worlds: tuple[Things, Things], client_of: Build
) -> None:
    """Else the test above could not fail."""
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    lost = []
    for route, method, permission in calls():
        if method != "GET" or not is_of_projects(route) or permission not in MAY["deployer"]:
            continue
        if route in SHARED | {"drafts/<str:draft_id>"}:  # the other person's
            continue
        response = send(client, method, url(route, worlds[0]))
        if response.status_code in (403, 404):
            lost.append(f"{method} {route}: {response.status_code} {text_of(response)[:200]}")
    assert lost == MISSING


# Of what these look for the world has none: no part of an upload, and no replica that answers.
MISSING: Final[list[str]] = []


def test_nothing_that_is_read_tells_of_another_project(
    worlds: tuple[Things, Things], client_of: Build
) -> None:
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    told, shown = [], set()
    for route, method, permission in calls():
        if method != "GET" or not is_of_projects(route) or permission not in MAY["deployer"]:
            continue
        text = text_of(send(client, method, url(route, worlds[0])))
        if THEIRS in text:
            told.append(f"{route}: {text[max(0, text.index(THEIRS) - 80) :][:200]}")
        if OURS in text and "<" not in route:
            shown.add(route)
    assert told == []
    lists = {"endpoints", "environments", "models", "operations", "projects", "test-cases"}
    assert lists | {"try-loads"} <= shown


def test_where_something_would_run_names_nodes_and_nothing_of_others(
    worlds: tuple[Things, Things], client_of: Build
) -> None:
    """Their replica is on the node, which counts, and is not told."""
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    text = text_of(send(client, "POST", "/api/v1/placement/preview", {"model": f"{OURS}-model"}))
    assert '"n1"' in text
    assert THEIRS not in text


REFUSED: Final[dict[str, tuple[str, str, dict[str, Any], int]]] = {
    "a model of another project": (
        "POST", "deploy", {"model": f"{THEIRS}-model"}, 404,
    ),
    "a model of another project, onto an endpoint of one's own": (
        "POST", "deploy", {"model": f"{THEIRS}-model", "endpoint": f"{OURS}-endpoint"}, 404,
    ),
    "a model of one's own, onto an endpoint of another project": (
        "POST", "deploy", {"model": f"{OURS}-model", "endpoint": f"{THEIRS}-endpoint"}, 409,
    ),
    "a deployment with a model of another project": (
        "POST", f"endpoints/{OURS}-endpoint/deployments",
        {"name": "green", "model": f"{THEIRS}-model"}, 404,
    ),
    "an update to a model of another project": (
        "POST", f"endpoints/{OURS}-endpoint/deployments/{OURS}-blue/update",
        {"model": f"{THEIRS}-model"}, 404,
    ),
    "a change to a model of another project": (
        "PATCH", f"endpoints/{OURS}-endpoint/deployments/{OURS}-blue",
        {"model": f"{THEIRS}-model"}, 404,
    ),
    "placement of a model of another project": (
        "POST", "placement/preview", {"model": f"{THEIRS}-model"}, 404,
    ),
    "a load sweep with a case of another project": (
        "POST", f"endpoints/{OURS}-endpoint/deployments/{OURS}-blue/sweeps",
        {"levels": [1], "while_serving": True, "case": f"{THEIRS}-case"}, 404,
    ),
    "a trial of a model of another project": (
        "POST", "try-loads", {"model": f"{THEIRS}-model"}, 404,
    ),
    "a trial of an upload of another project": (
        "POST", "try-loads", {"upload_id": f"{THEIRS}-upload"}, 404,
    ),
    "an upload of another project, as a model": (
        "POST", "models", {"name": "mine", "upload_id": f"{THEIRS}-upload"}, 404,
    ),
    "an upload of another project, as a version": (
        "POST", f"models/{OURS}-model/versions", {"upload_id": f"{THEIRS}-upload"}, 404,
    ),
    "an upload into another project": (
        "POST", "uploads", {"filename": "m.zip", "size": 1, "project": THEIRS}, 404,
    ),
    "an import into another project": (
        "POST", "imports", {"address": "https://host.test/m.onnx", "project": THEIRS}, 404,
    ),
    "an endpoint in another project": (
        "POST", "endpoints", {"name": "stray", "project": THEIRS}, 404,
    ),
    "an endpoint in a project that there is not": (
        "POST", "endpoints", {"name": "stray", "project": "nowhere"}, 404,
    ),
    "an endpoint in the default project": (
        "POST", "endpoints", {"name": "stray", "project": "default"}, 404,
    ),
    "an environment of one's own into another project": (
        "PATCH", f"environments/{OURS}-environment/versions/1", {"project": THEIRS}, 400,
    ),
    "an endpoint of one's own into another project": (
        "PUT", f"endpoints/{OURS}-endpoint", {"project": THEIRS}, 400,
    ),
    "the same by a patch": (
        "PATCH", f"endpoints/{OURS}-endpoint", {"project": THEIRS}, 400,
    ),
    "a model of one's own into another project": (
        "PATCH", f"models/{OURS}-model", {"project": THEIRS}, 400,
    ),
    "the name of another project's endpoint": (
        "POST", "endpoints", {"name": f"{THEIRS}-endpoint"}, 409,
    ),
    "the name of another project's environment": (
        "POST", "environments", {"name": f"{THEIRS}-environment", "requirements": "numpy"}, 409,
    ),
    "an environment in another project": (
        "POST", "environments", {"name": "stray", "requirements": "numpy", "project": THEIRS}, 404,
    ),
    "a role for oneself": (
        "PUT", f"projects/{THEIRS}/members/mia", {"role": "deployer"}, 403,
    ),
    "a wider quota": ("PATCH", f"projects/{OURS}", {"max_gpus": None}, 403),
    "a project": ("POST", "projects", {"name": "mine"}, 403),
}  # fmt: skip


@pytest.mark.parametrize("attack", REFUSED)
def test_who_has_a_role_in_one_project_cannot_use(
    attack: str, worlds: tuple[Things, Things], client_of: Build
) -> None:
    method, path, body, wanted = REFUSED[attack]
    client, before = client_of(member(OURS, Membership.Role.DEPLOYER)), counts()
    response = send(client, method, f"/api/v1/{path}", body)
    assert response.status_code == wanted, response.content
    assert counts() == before


FILTERS: Final = (
    f"operations?endpoint={THEIRS}-endpoint", f"operations?q={THEIRS}",
    f"operations?project={THEIRS}", f"operations?actor={THEIRS}-person",
    f"endpoints?q={THEIRS}", f"endpoints?project={THEIRS}", f"models?q={THEIRS}",
    f"models?project={THEIRS}&archived=all", f"environments?q={THEIRS}&archived=all",
    f"environments?project={THEIRS}", f"test-cases?endpoint={THEIRS}-endpoint",
    f"test-cases?model={THEIRS}-model", f"test-cases?project={THEIRS}",
    f"try-loads?model={THEIRS}-model", f"projects?q={THEIRS}&archived=all",
)  # fmt: skip


@pytest.mark.parametrize("query", FILTERS)
def test_no_filter_reaches_into_another_project(
    query: str, worlds: tuple[Things, Things], client_of: Build
) -> None:
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    assert client.get(f"/api/v1/{query}").json()["items"] == []
    admin = client_of(make_user("ada", User.Role.ADMIN))
    assert admin.get(f"/api/v1/{query}").json()["items"] != []


@pytest.mark.parametrize("what", ["operations", "try-loads"])
def test_waiting_finds_nothing_either(
    what: str, worlds: tuple[Things, Things], client_of: Build
) -> None:
    client = client_of(member(OURS, Membership.Role.VIEWER))
    word = "operation" if what == "operations" else "trial"
    assert client.get(f"/api/v1/{what}/{THEIRS}-{word}?wait=1").status_code == 404
    assert client.get(f"/api/v1/{what}/{OURS}-{word}?wait=0.01").status_code == 200


def test_a_viewer_of_a_project_changes_nothing_in_it(
    worlds: tuple[Things, Things], client_of: Build
) -> None:
    client = client_of(member(OURS, Membership.Role.VIEWER))
    wrong = [
        f"{method} {route}: {status}"
        for route, method, permission in calls()
        if permission not in (A, "open") and is_of_projects(route)
        for status in [send(client, method, url(route, worlds[0])).status_code]
        if (status == 403) == (permission in MAY["viewer"])
    ]
    assert wrong == []


def test_roles_of_both_kinds_add_up(worlds: tuple[Things, Things], client_of: Build) -> None:
    """A viewer of the installation who deploys in one project reads all and changes that."""
    user = make_user("vera", User.Role.VIEWER)
    Membership.objects.create(project_id=OURS, user=user, role=Membership.Role.DEPLOYER)
    client = client_of(user)
    assert client.get(f"/api/v1/models/{THEIRS}-model").status_code == 200
    said = {"description": "by vera"}
    client.raise_request_exception = False
    answers = [client.patch(f"/api/v1/models/{word}-model", said) for word in (OURS, THEIRS)]
    assert [answer.status_code for answer in answers] == [200, 404]


def test_a_token_takes_from_roles_in_projects_too(
    worlds: tuple[Things, Things],
) -> None:
    user = member(OURS, Membership.Role.DEPLOYER)
    _, clear = token_create(user=user, name="limited", actor="mia", scopes=["read"])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert client.get(f"/api/v1/models/{OURS}-model").status_code == 200
    refused = client.patch(f"/api/v1/models/{OURS}-model", {"description": "x"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "TokenScopeMissing")


def test_who_lost_the_role_sees_nothing_from_the_next_request_on(
    worlds: tuple[Things, Things], client_of: Build, admin_api: APIClient
) -> None:
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    assert client.get("/api/v1/models").status_code == 200
    assert admin_api.delete(f"/api/v1/projects/{OURS}/members/mia").status_code == 204
    assert client.get("/api/v1/models").status_code == 403


# What refers to rows of projects and is none: who is a member, and what loads needed of a GPU,
# which placement alone reads.
UNSCOPED: Final = {"Membership", "GpuFootprint"}


def test_all_rows_of_projects_have_the_manager_that_keeps_to_them() -> None:
    """Whatever refers to a row of a project, however far, cannot be read past the gate by mistake:
    its default manager, which relations use as well, is the scoped one."""
    of_projects: set[Any] = {Project}
    while found := {model for model in apps.get_models() if _refers(model, of_projects)}:
        of_projects |= found
    assert len(of_projects) > 15
    unscoped = {
        model.__name__
        for model in of_projects
        if not (
            isinstance(model._default_manager, ScopedManager) and hasattr(model, "project_paths")
        )
    }
    assert unscoped == UNSCOPED


def _refers(model: type[models.Model], others: set[Any]) -> bool:
    fields = model._meta.concrete_fields
    return model not in others and any(field.related_model in others for field in fields)


def test_the_gate_is_shut_until_somebody_has_opened_it(worlds: tuple[Things, Things]) -> None:
    assert scope_now() is None
    with within(NOTHING):
        assert counts() == dict.fromkeys(counts(), 0) | {"Draft": 2}
        with pytest.raises(OutOfScope):
            Model(name="stray", project_id=OURS).save()
    with within(frozenset({OURS})):
        assert list(Model.objects.values_list("name", flat=True)) == [f"{OURS}-model"]
        with pytest.raises(OutOfScope):
            Model.objects.create(name="stray", project_id=THEIRS)
        with pytest.raises(OutOfScope):
            Model.objects.create(name="stray")  # the default project is no way out
    assert scope_now() is None


@pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
async def test_as_a_server_calls_it_too_each_request_has_a_gate_of_its_own() -> None:
    """Side by side in one event loop, views in threads, waiting between two of them."""
    tokens = await sync_to_async(_two_members)()
    transport = httpx.ASGITransport(cast(Any, http_application()))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def ask(token: str, path: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"}
            return await client.get(f"/api/v1/{path}", headers=headers)

        for _ in range(3):
            answers = await asyncio.gather(
                *(
                    ask(tokens[word], path)
                    for path in ("models", f"operations/{OURS}-operation?wait=0.05")
                    for word in (OURS, THEIRS)
                )
            )
            ours, theirs, waited, refused = answers
            assert [item["name"] for item in ours.json()["items"]] == [f"{OURS}-model"]
            assert [item["name"] for item in theirs.json()["items"]] == [f"{THEIRS}-model"]
            assert (waited.status_code, refused.status_code) == (200, 404)
    assert scope_now() is None


def _two_members() -> dict[str, str]:
    found = {}
    for word in (OURS, THEIRS):
        project_add(word)
        user = member(word, Membership.Role.VIEWER, f"{word}-viewer")
        _, found[word] = token_create(user=user, name="test", actor=user.username)
    Operation.objects.update(state="Running", finished_at=None)
    return found
