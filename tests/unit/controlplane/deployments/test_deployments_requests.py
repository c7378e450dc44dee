"""Single requests: kept as gateways tell of them, found by status, time and id."""

import time
from dataclasses import replace
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Project
from controlplane.accounts.scope import within
from controlplane.deployments.models import Endpoint, Replica
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.selectors.requests import requests_shown
from controlplane.metrics.models import RequestSample
from controlplane.metrics.selectors import RequestFilter
from controlplane.metrics.services import gateway_samples_ingest, prune
from controlplane.nodes.models import Node
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register
from wire.samples import GatewaySampleBatch, SeenRequest

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
PATH = "/api/v1/endpoints/digits/requests"
OK = SeenRequest(
    id="aaaa-1", endpoint="digits", deployment="blue", at=0.0, why="sampled", method="POST",
    path="/v2/models/digits/infer", status=200, status_class="2xx", host="10.0.0.7:9001",
    attempts=1, duration_us=5000.0, receive_us=1000.0, send_us=500.0, request_bytes=300,
    response_bytes=80,
)  # fmt: skip


@pytest.fixture
def now() -> float:
    """Three requests of an endpoint with a replica, and one of another endpoint."""
    at = time.time()
    endpoint = Endpoint.objects.create(name="digits", created_by="dora", traffic={"blue": 100})
    deployment = deployment_add(endpoint, model_register("digits"))
    node = Node.objects.create(id="f" * 16, name="n1", info={}, last_seen_at=None)
    observed = {"address": "10.0.0.7", "http_port": 9001, "grpc_port": 9002}
    Replica.objects.create(
        id="r-1", deployment=deployment, revision=deployment.revision, node=node, ordinal=0,
        observed=observed,
    )  # fmt: skip
    told = (
        replace(OK, at=at - 30),
        replace(OK, id="bbbb-2", at=at - 20, why="failed", status=503, status_class="5xx",
                flags="UF", host="10.0.0.8:9001", duration_us=90_000.0),
        replace(OK, id="cccc-3", at=at - 10, why="failed", deployment="", status=401,
                status_class="4xx", duration_us=None, host=""),
        replace(OK, id="dddd-4", at=at - 5, endpoint="other"),
    )  # fmt: skip
    gateway_samples_ingest(GatewaySampleBatch((), told))
    return at


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, ["cccc-3", "bbbb-2", "aaaa-1"]),
        ({"status": "failed"}, ["cccc-3", "bbbb-2"]),
        ({"status": "5xx"}, ["bbbb-2"]),
        ({"min_ms": 50}, ["bbbb-2"]),
        ({"order": "slowest"}, ["bbbb-2", "aaaa-1"]),
        ({"id": "aaaa"}, ["aaaa-1"]),
        ({"id": "dddd-4"}, []),
        ({"deployment": "blue"}, ["bbbb-2", "aaaa-1"]),
        ({"range": 15}, ["cccc-3"]),
        ({"limit": 1}, ["cccc-3"]),
    ],
)
def test_they_are_found(
    now: float, viewer_api: APIClient, query: dict[str, Any], ids: list[str]
) -> None:
    del now
    answer = viewer_api.get(PATH, query)
    assert answer.status_code == 200, answer.json()
    assert [item["id"] for item in answer.json()["items"]] == ids


def test_the_replica_is_told_where_it_is_still_there(now: float, viewer_api: APIClient) -> None:
    del now
    refused, failed, answered = viewer_api.get(PATH).json()["items"]
    assert (answered["replica"], answered["node"], answered["replica_us"]) == ("r-1", "n1", 3500.0)
    assert (failed["replica"], failed["node"], failed["host"]) == ("", "", "10.0.0.8:9001")
    assert (refused["deployment"], refused["duration_us"], refused["replica_us"]) == (
        "",
        None,
        None,
    )


@pytest.mark.parametrize(
    "query",
    [{"status": "6xx"}, {"order": "best"}, {"range": 30_000}, {"limit": 0}, {"id": "x" * 65}],
)
def test_what_it_refuses(now: float, viewer_api: APIClient, query: dict[str, Any]) -> None:
    del now
    answer = viewer_api.get(PATH, query)
    assert (answer.status_code, answer.json()["code"]) == (400, "BadArgument")
    assert viewer_api.get("/api/v1/endpoints/nobody/requests").status_code == 404


def test_a_member_reads_nothing_of_who_had_the_name_before(now: float) -> None:
    Project.objects.create(name="alpha", created_by="ada")
    Endpoint.objects.filter(name="digits").update(project="alpha")
    with within(frozenset({"alpha"})):
        row = endpoint_get("digits")
        since = row.created_at.timestamp()
        found = requests_shown(row, RequestFilter("digits", since, now), slowest=False, limit=50)
    assert found == []


def test_they_go_with_the_other_samples(now: float) -> None:
    prune(now=now + 3600)
    assert RequestSample.objects.count() == 4
    prune(now=now + 6 * 3600)
    assert RequestSample.objects.count() == 0
