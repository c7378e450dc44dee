"""REST of projects: made, limited, archived, given members; what each shows."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, Project, User
from controlplane.core.models import Event
from tests.support.people import make_user
from tests.support.registered_models import model_register

pytestmark = pytest.mark.django_db
PROJECTS = "/api/v1/projects"
VISION = f"{PROJECTS}/vision"


@pytest.fixture
def vision(admin_api: APIClient) -> None:
    body = {"name": "vision", "display_name": "Computer vision", "max_gpus": 4}
    assert admin_api.post(PROJECTS, body).status_code == 201


def test_all_that_there_was_is_in_the_default_project(api: APIClient) -> None:
    items = api.get(PROJECTS).json()["items"]
    assert [item["name"] for item in items] == ["default"]


def test_a_project_is_made_shown_and_limited(admin_api: APIClient, vision: None) -> None:
    shown = admin_api.get(VISION)
    assert shown.json() | {"created_at": ""} == {
        "name": "vision", "display_name": "Computer vision", "archived": False,
        "max_replicas": None, "max_gpus": 4, "max_bytes": None,
        "used_replicas": 0, "used_gpus": 0, "used_bytes": 0,
        "created_by": "ada", "created_at": "",
    }  # fmt: skip
    stale = {"HTTP_IF_MATCH": shown["ETag"]}
    assert admin_api.patch(VISION, {"max_gpus": None, "max_replicas": 3}).status_code == 200
    row = Project.objects.get(name="vision")
    assert (row.max_gpus, row.max_replicas, row.max_bytes) == (None, 3, None)
    assert admin_api.patch(VISION, {"max_gpus": 1}, **stale).status_code == 412


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"name": "v"}, "NameInvalid", "name"),
        ({"name": "-vision"}, "NameInvalid", "name"),
        ({"name": "Vision"}, "NameTaken", "name"),
        ({"name": "default"}, "NameTaken", "name"),
        ({"name": "speech", "max_gpus": -1}, "BadArgument", "max_gpus"),
        ({"name": "speech", "gpus": 1}, "BadArgument", "gpus"),
    ],
)
def test_what_is_no_project_is_refused(
    admin_api: APIClient, vision: None, body: dict[str, object], code: str, field: str
) -> None:
    problem = admin_api.post(PROJECTS, body).json()
    assert (problem["code"], problem["field"]) == (code, field)


def test_the_default_project_is_not_archived_others_are(admin_api: APIClient, vision: None) -> None:
    assert admin_api.post(f"{PROJECTS}/default/archive").status_code == 409
    assert admin_api.post(f"{VISION}/archive").json()["archived"] is True
    names = [item["name"] for item in admin_api.get(PROJECTS).json()["items"]]
    assert names == ["default"]
    assert admin_api.post(f"{VISION}/restore").json()["archived"] is False


def test_members_have_one_role_each_and_the_log_of_people_tells(
    admin_api: APIClient, vision: None
) -> None:
    make_user("mia", User.Role.MEMBER)
    for role in ("viewer", "deployer", "deployer"):
        assert admin_api.put(f"{VISION}/members/mia", {"role": role}).status_code == 200
    (item,) = admin_api.get(f"{VISION}/members").json()["items"]
    assert (item["username"], item["role"]) == ("mia", "deployer")
    assert admin_api.delete(f"{VISION}/members/mia").status_code == 204
    assert admin_api.delete(f"{VISION}/members/mia").json()["code"] == "MemberNotFound"
    told = Event.objects.filter(verb__startswith="project.member")
    assert [(event.subject, event.verb) for event in told] == [
        ("user/mia", "project.member_set"),
        ("user/mia", "project.member_set"),
        ("user/mia", "project.member_removed"),
    ]


@pytest.mark.parametrize("role", ["operator", "admin", "member", "boss"])
def test_roles_of_the_installation_are_none_in_a_project(
    admin_api: APIClient, vision: None, role: str
) -> None:
    make_user("mia", User.Role.MEMBER)
    answer = admin_api.put(f"{VISION}/members/mia", {"role": role})
    assert (answer.status_code, answer.json()["field"]) == (400, "role")


def test_nobody_who_is_not_there_becomes_a_member(admin_api: APIClient, vision: None) -> None:
    answer = admin_api.put(f"{VISION}/members/nobody", {"role": "viewer"})
    assert (answer.status_code, answer.json()["code"]) == (404, "UserNotFound")


def test_something_new_goes_into_the_only_project_that_one_has_a_role_in(
    vision: None, client_of: Callable[[User], APIClient]
) -> None:
    user = make_user("mia", User.Role.MEMBER)
    Membership.objects.create(project_id="vision", user=user, role="deployer")
    client = client_of(user)
    assert client.post("/api/v1/endpoints", {"name": "eyes"}).json()["project"] == "vision"
    Membership.objects.create(project_id="default", user=user, role="deployer")
    problem = client.post("/api/v1/endpoints", {"name": "ears"}).json()
    assert (problem["field"], problem["hints"]) == ("project", ["One of default, vision."])
    made = client.post("/api/v1/endpoints", {"name": "ears", "project": "default"})
    assert made.json()["project"] == "default"


def test_a_model_of_one_project_does_not_run_on_an_endpoint_of_another(
    admin_api: APIClient, vision: None
) -> None:
    model_register()
    assert admin_api.post("/api/v1/endpoints", {"name": "eyes", "project": "vision"}).json()
    answer = admin_api.post("/api/v1/deploy", {"model": "digits", "endpoint": "eyes"})
    assert (answer.status_code, answer.json()["code"]) == (409, "ProjectMismatch")
