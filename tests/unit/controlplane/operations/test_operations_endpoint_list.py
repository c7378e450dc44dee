"""The list of endpoints: searched, chosen by how they serve, with figures of the last seconds."""

import time
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.deployments.models import Endpoint
from tests.support.gateway_counts import counted
from tests.support.placed_replicas import blue_and_green
from tests.support.replica_counts import carried

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.fixture(autouse=True)
def made(db: None) -> None:
    """``digits`` serves the model digits by two deployments; ``empty`` has none."""
    blue_and_green()
    Endpoint.objects.create(name="empty", description="for the Faces team")


def listed(api: APIClient, query: str) -> Any:
    answer = api.get(f"/api/v1/endpoints?{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=DIG", ["digits"]),
        ("q=faces", ["empty"]),  # its description
        ("q=nothing", []),
        ("serving_state=Stopped", ["empty"]),
        ("serving_state=Healthy,Degraded", ["digits"]),
        ("serving_state=Healthy,Stopped", ["digits", "empty"]),
        ("serving_state=Unavailable", []),
        ("serving_state=Healthy&q=faces", []),
    ],
)
def test_what_matches_is_counted_and_shown(api: APIClient, query: str, names: list[str]) -> None:
    found = listed(api, query)
    assert ([row["name"] for row in found["items"]], found["total"]) == (names, len(names))


def test_an_endpoint_is_found_by_the_model_that_it_serves(api: APIClient) -> None:
    Endpoint.objects.filter(name="digits").update(name="scores")
    assert [row["name"] for row in listed(api, "q=digits")["items"]] == ["scores"]


def test_a_state_that_there_is_not_is_refused(api: APIClient) -> None:
    answer = api.get("/api/v1/endpoints?serving_state=Fine")
    assert answer.status_code == 400
    assert '"Fine" is none of Healthy' in answer.json()["errors"]["serving_state"][0]


def test_the_last_seconds_are_told_where_somebody_asks(api: APIClient) -> None:
    now = time.time()
    for at, done in ((now - 4, 0), (now - 0.5, 35)):
        carried(at, "blue", answered=done)  # of which callers know nothing
    counted(now - 0.5, blue=(40, 10))
    assert "live" not in listed(api, "")
    live = listed(api, "live=true")["live"]
    assert sorted(live) == ["digits", "empty"]
    assert live["digits"]["answer_rate"] == pytest.approx(20)
    assert live["digits"]["error_rate"] == pytest.approx(0.25)
    assert set(live["empty"].values()) == {None}


def test_only_those_of_the_page_are_told(api: APIClient) -> None:
    first = listed(api, "live=true&limit=1")
    assert (list(first["live"]), first["total"]) == (["digits"], 2)
    second = listed(api, f"live=true&limit=1&cursor={first['next_cursor']}")
    assert list(second["live"]) == ["empty"]
