"""Objectives over REST. What they say beside Prometheus: ``test_alerts_prometheus``."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.gateway.models import Gateway
from controlplane.metrics.models import GatewaySample as SampleRow
from controlplane.metrics.services import gateway_samples_ingest, roll_up
from controlplane.metrics.types import HOUR_S
from tests.support.people import make_user
from wire.samples import GatewaySample, GatewaySampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
MINUTE = 60.0
URL = "/api/v1/endpoints/quote/objectives"
AVAILABLE = {"kind": "availability", "target_percent": 99.9}


@pytest.fixture
def endpoint(api: APIClient) -> Endpoint:
    assert api.post("/api/v1/endpoints", {"name": "quote"}, format="json").status_code == 201
    Endpoint.objects.update(created_at=timezone.now() - timedelta(days=40))
    Gateway.objects.create(name="gw", last_seen_at=timezone.now())
    return Endpoint.objects.get()


def counted(
    at: float, good: int, bad: int, bucket: int = 50, deployment: str = "blue"
) -> GatewaySample:
    classes = {"2xx": good, "5xx": bad}
    return GatewaySample(
        "quote", deployment, at, 2.0, good + bad, classes, {str(bucket): good + bad}
    )


def sent(at: float, good: int, bad: int) -> None:
    gateway_samples_ingest(GatewaySampleBatch((counted(at, good, bad),)))


def test_it_is_set_read_and_removed(api: APIClient, endpoint: Endpoint) -> None:
    made = api.put(f"{URL}/availability", AVAILABLE, format="json")
    assert made.status_code == 201
    assert made.json()["state"] == "no_data"
    assert api.put(f"{URL}/availability", AVAILABLE, format="json").status_code == 200
    assert Event.objects.filter(verb="objective.set").count() == 1, "nothing changed"
    sent(time.time() - 30, good=980, bad=20)
    found = api.get(URL).json()["items"]
    assert [one["name"] for one in found] == ["availability"]
    assert (found[0]["requests"], found[0]["bad_requests"]) == (1000, 20)
    assert found[0]["budget_left"] == pytest.approx(-19)
    assert [one["burning"] for one in found[0]["burn_rates"]] == [True, True, True]
    assert found[0]["burn_rates"][0]["long_rate"] == pytest.approx(20)
    assert found[0]["state"] == "burning"
    # what was read may be sent back
    assert api.put(f"{URL}/availability", found[0], format="json").status_code == 200
    assert api.delete(f"{URL}/availability").status_code == 204
    assert api.get(f"{URL}/availability").status_code == 404


@pytest.mark.parametrize("method", ["put", "delete"])
def test_what_another_made_of_it_is_not_written_over_unseen(
    api: APIClient,
    endpoint: Endpoint,
    client_of: Callable[[User], APIClient],
    method: str,
) -> None:
    api.put(f"{URL}/goal", AVAILABLE, format="json")
    seen = api.get("/api/v1/endpoints/quote").json()["etag"]
    omar = client_of(make_user("omar", User.Role.DEPLOYER))
    omar.put(f"{URL}/goal", {**AVAILABLE, "target_percent": 95}, format="json")

    send = getattr(api, method)
    refused = send(f"{URL}/goal", AVAILABLE, format="json", headers={"If-Match": seen})
    told = refused.json()
    assert (refused.status_code, told["code"]) == (412, "PreconditionFailed")
    assert told["changed"]["by"] == "omar"
    assert [one["target_percent"] for one in told["current"]["objectives"]] == [95]
    assert api.get(f"{URL}/goal").json()["target_percent"] == 95

    again = send(f"{URL}/goal", AVAILABLE, format="json", headers={"If-Match": told["etag"]})
    assert again.status_code in (200, 204)


def test_where_no_gateway_is_heard_there_is_no_data(api: APIClient, endpoint: Endpoint) -> None:
    api.put(f"{URL}/availability", AVAILABLE, format="json")
    sent(time.time() - 30, good=0, bad=1000)
    Gateway.objects.update(last_seen_at=timezone.now() - timedelta(minutes=5))
    found = api.get(f"{URL}/availability").json()
    assert (found["state"], found["burn_rates"][0]["burning"]) == ("no_data", None)
    assert "No gateway" in found["told"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "availability", "target_percent": 100}, "target_percent"),
        ({"kind": "latency", "target_percent": 99, "threshold_ms": 123}, "threshold_ms"),
        ({"kind": "speed", "target_percent": 99}, "kind"),
        ({"kind": "availability", "target_percent": 99, "goal": 1}, "goal"),
    ],
)
def test_what_is_refused_names_its_field(
    api: APIClient, endpoint: Endpoint, body: dict[str, Any], field: str
) -> None:
    answer = api.put(f"{URL}/goal", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["field"] == field or field in answer.json().get("fields", {})


def test_a_viewer_reads_and_sets_nothing(
    api: APIClient, endpoint: Endpoint, client_of: Callable[[User], APIClient]
) -> None:
    viewer = client_of(make_user("vic", User.Role.VIEWER))
    assert viewer.put(f"{URL}/goal", AVAILABLE, format="json").status_code == 403
    assert viewer.get(URL).json() == {"items": []}


def test_an_endpoint_has_ten_at_most(api: APIClient, endpoint: Endpoint) -> None:
    for number in range(10):
        assert api.put(f"{URL}/goal-{number}", AVAILABLE, format="json").status_code == 201
    answer = api.put(f"{URL}/goal-10", AVAILABLE, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "TooManyObjectives")


def test_what_was_before_the_endpoint_is_anothers(api: APIClient, endpoint: Endpoint) -> None:
    base = time.time() // HOUR_S * HOUR_S - 9 * HOUR_S
    samples = [counted(base + minute * MINUTE + 30, good=10, bad=10) for minute in range(120)]
    gateway_samples_ingest(GatewaySampleBatch(tuple(samples)))
    roll_up(now=time.time(), minutes=200)
    Endpoint.objects.update(created_at=datetime.fromtimestamp(base + 90 * MINUTE + 20, UTC))
    api.put(f"{URL}/availability", AVAILABLE, format="json")
    # 29 whole minutes, and the samples of the one in which it was made
    assert api.get(f"{URL}/availability").json()["requests"] == 30 * 20
    SampleRow.objects.all().delete()
    assert api.get(f"{URL}/availability").json()["requests"] == 29 * 20
    history = api.get(f"{URL}/availability/history").json()
    assert sum(point["total"] for point in history["points"]) == 29 * 20
