"""Environments: versions by their content, the words about them, and who uses them."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.environments.models import EnvironmentVersion
from controlplane.registry.models import ModelVersion
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
PATH = "/api/v1/environments"


def register(api: APIClient, name: str = "scoring", **fields: Any) -> dict[str, Any]:
    answer = api.post(PATH, {"name": name, "requirements": "numpy==2.4.*\n", **fields})
    assert answer.status_code in (200, 201), answer.content
    return {**answer.json(), "status": answer.status_code}


def versions(api: APIClient, query: str = "") -> list[tuple[str, int]]:
    return [(row["name"], row["version"]) for row in api.get(f"{PATH}{query}").json()["items"]]


def test_a_version_is_told_by_its_content(api: APIClient) -> None:
    first = register(api, description="numbers", conda_file={"dependencies": ["numpy=2.4"]})
    assert (first["status"], first["version"], first["created_by"]) == (201, 1, "dora")
    again = register(api, description="other", conda_file={"dependencies": ["numpy=2.4"]})
    assert (again["status"], again["version"], again["description"]) == (200, 1, "numbers")
    other = register(api, requirements="numpy\nscipy\n")
    assert (other["status"], other["version"]) == (201, 2)
    assert versions(api) == [("scoring", 2)]
    assert versions(api, "/scoring/versions") == [("scoring", 2), ("scoring", 1)]
    assert api.get(f"{PATH}/scoring/versions/latest").json()["requirements"] == "numpy\nscipy\n"


def test_a_number_is_taken_once(api: APIClient) -> None:
    assert register(api, version=7)["version"] == 7
    assert register(api, version=7)["status"] == 200
    refused = api.post(PATH, {"name": "scoring", "version": 7, "requirements": "scipy"})
    assert (refused.status_code, refused.json()["code"]) == (409, "EnvironmentVersionImmutable")
    assert register(api, requirements="scipy")["version"] == 8


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "-x"}, "name"),
        ({"name": "a/b"}, "name"),
        ({}, "name"),
        ({"name": "x", "version": 0}, "version"),
        ({"name": "x", "conda_file": "text"}, "conda_file"),
        ({"name": "x", "packages": []}, "packages"),
    ],
)
def test_bad_input_is_named(api: APIClient, body: dict[str, Any], field: str) -> None:
    refused = api.post(PATH, body)
    assert refused.status_code == 400
    assert refused.json()["field"] == field
    assert not EnvironmentVersion.objects.exists()


@pytest.mark.parametrize("version", ["2", "x", "0", "99999999999999999999", "@latest"])
def test_a_version_that_is_not_there(api: APIClient, version: str) -> None:
    register(api)
    api.post(f"{PATH}/scoring/archive")
    for path in (f"scoring/versions/{version}", f"nobody/versions/{version}"):
        answer = api.get(f"{PATH}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "EnvironmentNotFound")
    assert api.get(f"{PATH}/nobody/versions").status_code == 404


def test_words_change_and_nothing_else(api: APIClient) -> None:
    register(api)
    path = f"{PATH}/scoring/versions/1"
    shown = api.get(path)
    changed = api.patch(path, {"tags": {"team": "vision"}}, headers={"If-Match": shown["ETag"]})
    assert changed.json()["tags"] == {"team": "vision"}
    assert changed.json()["digest"] == shown.json()["digest"]
    late = api.patch(path, {"description": "x"}, headers={"If-Match": shown["ETag"]})
    assert (late.status_code, late.json()["current"]["tags"]) == (412, {"team": "vision"})
    assert api.patch(path, {"requirements": "scipy"}).json()["requirements"] == "numpy==2.4.*\n"
    assert versions(api, "?tag.team=vision") == [("scoring", 1)]
    assert versions(api, "?tag.team=audio") == []


def test_what_is_archived_is_hidden_until_it_is_wanted(api: APIClient) -> None:
    register(api)
    register(api, requirements="scipy")
    assert api.post(f"{PATH}/scoring/versions/2/archive").json()["archived"] is True
    assert versions(api) == versions(api, "/scoring/versions") == [("scoring", 1)]
    assert versions(api, "?archived=archived") == [("scoring", 2)]
    assert versions(api, "/scoring/versions?archived=all") == [("scoring", 2), ("scoring", 1)]
    assert api.get(f"{PATH}/scoring/versions/2").status_code == 200

    api.post(f"{PATH}/scoring/archive")
    assert versions(api) == []
    assert api.post(f"{PATH}/scoring/versions/1/restore").json()["archived"] is False
    assert versions(api) == [("scoring", 1)]
    assert register(api, requirements="scipy")["archived"] is False  # who registers it wants it
    verbs = Event.objects.filter(subject="environment/scoring").order_by("seq")
    assert list(verbs.values_list("verb", flat=True)) == [
        *["environment.registered"] * 2,
        *["environment.archived"] * 2,
        *["environment.restored"] * 2,
    ]


def test_who_uses_it(api: APIClient) -> None:
    register(api)
    version = model_register()
    ModelVersion.objects.update(declared={"environment": "azureml:scoring:1"})
    endpoint = Endpoint.objects.create(name="wine", created_by="dora")
    deployment_add(endpoint, version)
    assert api.get(f"{PATH}/scoring/versions/1").json()["used_by"] == ["wine"]
    assert api.get(PATH).json()["items"][0]["used_by"] == ["wine"]
