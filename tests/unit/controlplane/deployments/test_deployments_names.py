"""Names of endpoints: two that differ only by case would be one to people, and to some proxies."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.deployments.models import Endpoint
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ENDPOINTS = "/api/v1/endpoints"
Make = Callable[[APIClient, str], Any]
WAYS: dict[str, tuple[Make, str]] = {
    "post": (lambda api, name: api.post(ENDPOINTS, {"name": name}, format="json"), "name"),
    "put": (lambda api, name: api.put(f"{ENDPOINTS}/{name}", {}, format="json"), "name"),
    "deploy": (
        lambda api, name: api.post(
            "/api/v1/deploy", {"model": "digits", "endpoint": name}, format="json"
        ),
        "endpoint",
    ),
}


@pytest.mark.parametrize(("make", "field"), WAYS.values(), ids=WAYS)
def test_names_that_differ_only_by_case_are_one(api: APIClient, make: Make, field: str) -> None:
    model_register()
    assert api.post(ENDPOINTS, {"name": "Host-EP"}, format="json").status_code == 201
    refused = make(api, "host-ep")
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["field"]) == (409, "NameTaken", field)
    assert "Host-EP" in problem["detail"] and "host-ep" in problem["detail"]
    assert list(Endpoint.objects.values_list("name", flat=True)) == ["Host-EP"]
    assert make(api, "host-ep2").status_code in (201, 202)


def test_those_that_are_there_go_on(api: APIClient) -> None:
    model_register()
    SimulatedNode()
    for name in ("Host-EP", "host-ep"):
        Endpoint.objects.create(name=name, created_by="dora")
    for name in ("Host-EP", "host-ep"):
        path = f"{ENDPOINTS}/{name}"
        assert api.put(path, {"tags": {"a": name}}, format="json").status_code == 200
        assert api.get(path).json()["tags"] == {"a": name}
        deployed = api.post("/api/v1/deploy", {"model": "digits", "endpoint": name}, format="json")
        assert deployed.status_code == 202
        assert api.delete(path).status_code == 202
