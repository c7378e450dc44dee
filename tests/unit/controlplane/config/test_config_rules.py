"""What every resource keeps to: tags that count, links to the next page, numbers of requests."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.nodes.models import Node
from tests.support.registered_models import model_register

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])

CHANGES: dict[str, dict[str, Any]] = {
    "/api/v1/models/digits": {"description": "ten"},
    "/api/v1/models/digits/versions/1": {"tags": {"a": "b"}},
    "/api/v1/models/digits/versions/@latest": {"tags": {"a": "b"}},
    "/api/v1/endpoints/shop": {"description": "ten"},
    "/api/v1/nodes/one": {"labels": {"zone": "a"}},
    "/api/v1/instance-types/small": {"cpu_count": 2},
    "/api/v1/users/dora": {"role": "viewer"},
}


@pytest.fixture
def installation(admin_api: APIClient, deployer: User) -> APIClient:
    model_register()
    Endpoint.objects.create(name="shop", created_by="dora")
    Node.objects.create(name="one")
    made = admin_api.post("/api/v1/instance-types", {"name": "small"}, format="json")
    assert made.status_code == 201, made.content
    return admin_api


@pytest.mark.parametrize("path", CHANGES)
def test_a_change_of_what_somebody_else_changed_is_refused(
    installation: APIClient, path: str
) -> None:
    seen = installation.get(path)["ETag"]
    first = installation.patch(path, CHANGES[path], format="json", HTTP_IF_MATCH=seen)
    assert first.status_code == 200, first.content
    assert first["ETag"] == installation.get(path)["ETag"] != seen
    second = installation.patch(path, CHANGES[path], format="json", HTTP_IF_MATCH=seen)
    problem = second.json()
    assert (second.status_code, problem["code"]) == (412, "PreconditionFailed")
    assert problem["etag"] == first["ETag"]
    now = installation.get(path).json()
    changed = next(iter(CHANGES[path]))
    assert problem["current"][changed] == now[changed]
    assert installation.patch(path, CHANGES[path], format="json").status_code == 200


def test_a_page_links_to_the_next(api: APIClient) -> None:
    for name in ("alpha", "beta", "gamma"):
        Endpoint.objects.create(name=name, created_by="dora")
    first = api.get("/api/v1/endpoints?limit=2&q=a")
    link, relation = first["Link"].split("; ")
    assert relation == 'rel="next"'
    assert "q=a" in link
    second = api.get(link.strip("<>"))
    assert [item["name"] for item in second.json()["items"]] == ["gamma"]
    assert "Link" not in second


def test_endpoints_are_filtered_ordered_and_counted(api: APIClient) -> None:
    for name, state, team in (("red", "Updating", "a"), ("blue", "Succeeded", "b")):
        Endpoint.objects.create(
            name=name, provisioning_state=state, tags={"team": team}, created_by="dora"
        )

    def found(query: str) -> list[str]:
        answer = api.get(f"/api/v1/endpoints?{query}").json()
        assert answer["total"] == len(answer["items"])
        return [item["name"] for item in answer["items"]]

    assert found("") == ["blue", "red"]
    assert found("order_by=-name") == ["red", "blue"]
    assert found("order_by=created_at") == ["red", "blue"]
    assert found("state=Updating") == ["red"]
    assert found("state=Updating,Succeeded&tag.team=b") == ["blue"]
    assert found("tag.team=c") == []
    assert found("created_after=2999-01-01T00:00:00Z") == []
    assert found("created_before=2999-01-01T00:00:00Z") == ["blue", "red"]
    refused = api.get("/api/v1/endpoints?state=Updating,zz").json()
    assert (refused["status"], refused["field"]) == (400, "state")
    assert '"zz"' in refused["detail"]
    assert "Succeeded" in refused["detail"]


def test_answers_bear_a_number_and_problems_repeat_it(api: APIClient) -> None:
    one, other = api.get("/api/v1/models"), api.get("/api/v1/models/nobody")
    assert one["X-Request-Id"] != other["X-Request-Id"]
    assert other.json()["request_id"] == other["X-Request-Id"]
    mine = api.get("/api/v1/nothing", HTTP_X_REQUEST_ID="mine\nforged")
    assert mine.json()["request_id"] == mine["X-Request-Id"] != "mine\nforged"
    assert not Event.objects.filter(message__contains="forged").exists()
