"""What an operation warns of: it is done as it was asked, but maybe not as it was meant."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.nodes.models import Node
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"


def settle(node: SimulatedNode) -> None:
    node.bring_up()
    gateway_confirms()


def test_more_replicas_than_processors_are_told(api: APIClient) -> None:
    model_register()
    node = SimulatedNode(cpu_count=2)
    first = api.post("/api/v1/deploy", {"model": "digits", "instance_count": 2}, format="json")
    assert first.json()["warnings"] == []
    settle(node)
    many = api.patch(BLUE, {"instance_count": 5}, format="json").json()
    (told,) = many["warnings"]
    assert "5 replicas" in told and "2 processors" in told
    assert api.get(f"/api/v1/operations/{many['id']}").json()["warnings"] == [told]
    settle(node)
    rolled = api.patch(BLUE, {"environment": {"APP_A": "1"}}, format="json").json()
    assert rolled["warnings"] == [told]


@pytest.mark.parametrize(
    ("processors", "cordoned", "expected"),
    [((2, 4), (), 0), ((2, 4), ("b",), 1), ((2, 0), (), 0), ((0,), (), 0), ((), (), 0)],
    ids=["enough together", "one is cordoned", "one does not say", "nobody says", "none"],
)
def test_only_nodes_that_take_replicas_count(
    api: APIClient, processors: tuple[int, ...], cordoned: tuple[str, ...], expected: int
) -> None:
    model_register()
    for name, count in zip("ab", processors, strict=False):
        told: dict[str, Any] = {"cpu_count": count} if count else {}
        SimulatedNode(name, **told)
    Node.objects.filter(name__in=cordoned).update(cordoned=True)
    body = {"model": "digits", "instance_count": 5}
    answer = api.post("/api/v1/deploy", body, format="json").json()
    assert len(answer["warnings"]) == expected
