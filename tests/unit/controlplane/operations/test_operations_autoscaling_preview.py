"""`POST .../autoscale/preview`: the last hours, as minutes keep them."""

import math
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.metrics.models import RollUp
from controlplane.operations.models import Operation
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
PREVIEW = "/api/v1/endpoints/digits/deployments/blue/autoscale/preview"
AT_ONCE = {"window_s": 0, "cooldown_s": 0}


@pytest.fixture
def served(api: APIClient) -> APIClient:
    model_register()
    node = SimulatedNode(cpu_count=4)
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.bring_up()
    gateway_confirms()
    return api


def minute(ago: int, **sums: float) -> None:
    """A roll-up of a minute that ended so many minutes ago; ``sums`` are per second."""
    at = (math.floor(timezone.now().timestamp() / 60) - ago) * 60
    data: dict[str, Any] = {"s": 60.0, "sums": {name: 60 * value for name, value in sums.items()}}
    RollUp.objects.create(
        scope="deployment/digits/blue", span_s=60, at=at, data=data | {"gauge": {"instances": 1}}
    )


def policy(**targets: float) -> dict[str, Any]:
    return {"autoscale": {"max": 8, "targets": targets, "up": AT_ONCE, "down": AT_ONCE}}


def test_the_last_hours_are_told(served: APIClient) -> None:
    for ago in range(30, 10, -1):
        minute(ago, success=40, request_us=6e6, queue_us=1e6, cpu_s=6)
    for ago in range(10, 0, -1):
        minute(ago, success=1)
    for body, most in (
        (policy(in_flight=1), 5),
        (policy(requests_per_second=10), 4),
        (policy(cpu_percent=50), 3),  # six of four processors each
    ):
        answer = served.post(PREVIEW, body, format="json")
        assert answer.status_code == 200, answer.json()
        found = answer.json()
        assert (found["least"], found["most"], found["seconds"]) == (1, most, 1800.0)
        assert found["replica_hours"] == pytest.approx((20 * most + 10) / 60)
        assert [change["count"] for change in found["changes"]] == [most, 1]
    assert Operation.objects.count() == 1


def test_without_a_body_its_own_policy_is_asked(served: APIClient) -> None:
    minute(1, success=40)
    refused = served.post(PREVIEW, {}, format="json")
    assert (refused.status_code, refused.json()["field"]) == (400, "autoscale")
    served.patch(PREVIEW.removesuffix("/autoscale/preview"), policy(requests_per_second=20), "json")
    assert served.post(PREVIEW, {"hours": 1}, format="json").json()["most"] == 2


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (policy(in_flight=1), 409, "Nothing was measured of blue in the last 24 hours."),
        (policy(queue_ms=1), 400, "queue_ms cannot be foreseen"),
        ({**policy(in_flight=1), "hours": 49}, 400, "49"),
        ({"autoscale": {"targets": {"in_flight": 1}}}, 400, "autoscale.max: missing"),
        ({"autoscale": {"max": 2, "targets": {}}}, 400, "none is set"),
    ],
)
def test_what_cannot_be_previewed_is_refused(
    served: APIClient, body: dict[str, Any], status: int, words: str
) -> None:
    if status == 400:
        minute(1, success=40)
    answer = served.post(PREVIEW, body, format="json")
    assert (answer.status_code, words in str(answer.json())) == (status, True), answer.json()
