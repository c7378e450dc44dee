"""The list of models as the studio asks for it: filtered, ordered, in pages, counted."""

import pytest
from rest_framework.test import APIClient

from controlplane.deployments.models import Endpoint
from controlplane.registry.models import Model, RepoModel
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register

pytestmark = pytest.mark.django_db
MODELS = "/api/v1/models"


def names(api: APIClient, **query: object) -> list[str]:
    answer = api.get(MODELS, query)
    assert answer.status_code == 200, answer.json()
    return [item["name"] for item in answer.json()["items"]]


def test_pages_are_counted_and_follow_the_order(api: APIClient) -> None:
    for name in ("b", "a", "d", "c"):
        model_register(name)
    first = api.get(MODELS, {"limit": 3, "order_by": "name"}).json()
    assert [item["name"] for item in first["items"]] == ["a", "b", "c"]
    assert first["total"] == 4
    rest = api.get(MODELS, {"limit": 3, "order_by": "name", "cursor": first["next_cursor"]}).json()
    assert ([item["name"] for item in rest["items"]], rest["next_cursor"]) == (["d"], None)
    assert names(api, order_by="-name") == ["d", "c", "b", "a"]
    assert names(api) == ["c", "d", "a", "b"]
    assert api.get(MODELS, {"order_by": "size"}).status_code == 400


def test_the_newest_version_tells_the_backend(api: APIClient) -> None:
    model_register("old", backend="pytorch")
    model_register("old", backend="python", content=b"other")
    pipeline = model_register("pipe", backend="")
    RepoModel.objects.filter(model_version=pipeline).update(platform="ensemble")
    assert names(api, backend="python") == ["old"]
    assert names(api, backend="pytorch") == []
    assert names(api, backend="ensemble") == ["pipe"]


def test_what_runs_is_told_from_what_does_not(api: APIClient) -> None:
    version = model_register("runs")
    model_register("runs", content=b"newer, runs nowhere")
    model_register("rests")
    endpoint = Endpoint.objects.create(name="prod", created_by="dora")
    deployment_add(endpoint, version)
    assert names(api, deployed="true") == ["runs"]
    assert names(api, deployed="false") == ["rests"]


def test_the_words_of_a_description_are_found(api: APIClient) -> None:
    model_register("digits")
    model_register("other")
    Model.objects.filter(name="digits").update(description="Reads handwriting")
    assert names(api, q="HANDW") == ["digits"]


def test_five_thousand_models_are_a_few_queries_away(
    api: APIClient, django_assert_max_num_queries: object
) -> None:
    Model.objects.bulk_create(Model(name=f"m{index:04}") for index in range(5000))
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        page = api.get(MODELS, {"q": "m1", "order_by": "name"}).json()
    assert (len(page["items"]), page["total"]) == (50, 1000)
