"""Lists read what they show: not what nodes report, nor graphs and configurations."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.deployments.models import Endpoint, Replica
from controlplane.nodes.models import Node
from controlplane.registry.models import ConfigRevision, RepoModel
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register
from tests.support.rows_read import rows_read

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
LONG = "x" * 20_000
ENDPOINTS = 6


@pytest.fixture
def serving() -> None:
    """Endpoints with two replicas each on one node, which says much; so do the model's files."""
    version = model_register()
    RepoModel.objects.update(config_text=LONG, graph={"long": LONG})
    edited = ConfigRevision.objects.create(
        model_version=version, number=1, configs={"digits": LONG}, author="dora"
    )
    now = timezone.now()
    node = Node.objects.create(
        id="n", name="n", last_seen_at=now, online_since=now, info={"address": LONG}
    )
    for number in range(ENDPOINTS):
        made = Endpoint.objects.create(name=f"e{number}", created_by="dora")
        row = deployment_add(made, version)
        row.revision.config_revision = edited
        row.revision.save()
        for ordinal in range(2):
            Replica.objects.create(
                id=f"{number}-{ordinal}", deployment=row, revision=row.revision, node=node,
                ordinal=ordinal, observed={"state": "ready"},
            )  # fmt: skip


def listed(api: APIClient, path: str) -> tuple[list[dict[str, Any]], int, int]:
    """What a list shows, with the queries and the characters that it took."""
    api.get(path)  # what is asked once
    with rows_read("default", "metrics") as read:
        answer = api.get(path)
    assert answer.status_code == 200
    return answer.json()["items"], read.queries, read.characters


def test_endpoints_are_listed_without_what_is_long(api: APIClient, serving: None) -> None:
    items, queries, characters = listed(api, "/api/v1/endpoints")
    assert characters < len(LONG)
    assert queries <= 9
    assert items[0] == api.get("/api/v1/endpoints/e0").json(), "as one of them is shown"
    assert [row["node"] for row in items[0]["deployments"][0]["replicas"]] == ["n", "n"]


def test_a_node_is_read_once_whatever_runs_there(api: APIClient, serving: None) -> None:
    (item,), queries, characters = listed(api, "/api/v1/nodes")
    assert characters < 2 * len(LONG)
    assert queries <= 5
    assert len(item["replicas"]) == 2 * ENDPOINTS
    assert {(row["node"], row["deployment"]) for row in item["replicas"]} == {("n", "blue")}
