"""One request: what its gateway saw beside what its replica did for it."""

import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import Project
from controlplane.accounts.services.projects import member_set
from controlplane.deployments.models import Endpoint, Replica
from controlplane.deployments.selectors.requests import paired
from controlplane.deployments.waterfall import NO_REPLICA, NOT_KEPT
from controlplane.metrics.models import RequestTrace
from controlplane.metrics.selectors import request_salt
from controlplane.metrics.services import gateway_samples_ingest, prune, samples_ingest
from controlplane.metrics.services.samples import MOST_TRACES
from tests.support.deployment_rows import deployment_add
from tests.support.people import make_user
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from tests.unit.controlplane.deployments.test_deployments_requests import OK
from wire.samples import GatewaySampleBatch, ModelSpan, SampleBatch, TracedRequest

databases = pytest.mark.django_db(databases=["default", "metrics"])
PATH = "/api/v1/endpoints/digits/requests"
SPAN = ModelSpan(
    model="digits", version=1, parent=-1, via="", start_us=0.0, total_us=4000.0, batch=2,
    execution="abc", accept_us=100.0, queue_us=900.0, input_us=50.0, infer_us=2800.0,
    output_us=50.0,
)  # fmt: skip
TRACED = TracedRequest(
    number=1, id="a", why="slow", at=0.0, spans=(SPAN,), replica_id="r-1", endpoint="digits",
    deployment="blue",
)  # fmt: skip


@pytest.fixture
def now() -> float:
    """A replica on a node; a request that both sides keep, and one that only its gateway does."""
    at = time.time()
    endpoint = Endpoint.objects.create(name="digits", created_by="dora", traffic={"blue": 100})
    deployment = deployment_add(endpoint, model_register("digits"))
    node = SimulatedNode("n1").row()
    observed = {"address": "10.0.0.7", "http_port": 9001, "grpc_port": 9002}
    Replica.objects.create(
        id="r-1", deployment=deployment, revision=deployment.revision, node=node, ordinal=0,
        observed=observed,
    )  # fmt: skip
    told = (
        replace(OK, id="a", at=at - 30),
        replace(OK, id="b", at=at - 20),
        replace(OK, id="c", at=at - 10, deployment="", host="", status=401, duration_us=None),
    )
    gateway_samples_ingest(GatewaySampleBatch((), told))
    return at


def traced(*requests: TracedRequest) -> None:
    samples_ingest(node_id="f" * 16, node="n1", batch=SampleBatch((), None, requests))


@databases
def test_both_sides_of_a_request(now: float, viewer_api: APIClient) -> None:
    traced(
        replace(TRACED, at=now - 29.9),
        replace(TRACED, id="other", at=now - 29.8),
        replace(TRACED, id="of another execution", spans=(replace(SPAN, execution="d"),)),
    )
    answer = viewer_api.get(f"{PATH}/a")
    assert answer.status_code == 200, answer.json()
    (item,) = answer.json()["items"]
    assert (item["seen"]["replica"], item["told"]) == ("r-1", "")
    trace = item["trace"]
    assert (trace["replica"], trace["node"], trace["shared_with"]) == ("r-1", "n1", ["other"])
    (span,) = trace["spans"]
    assert (span["infer_us"], span["batch"], span["parent"]) == (2800.0, 2, -1)


@databases
@pytest.mark.parametrize(("name", "told"), [("b", NOT_KEPT), ("c", NO_REPLICA)])
def test_why_there_are_no_times(now: float, viewer_api: APIClient, name: str, told: str) -> None:
    del now
    (item,) = viewer_api.get(f"{PATH}/{name}").json()["items"]
    assert (item["trace"], item["told"]) == (None, told)


@databases
def test_a_request_that_only_its_replica_keeps(now: float, viewer_api: APIClient) -> None:
    traced(replace(TRACED, id="x/y?z", at=now))
    (item,) = viewer_api.get(f"{PATH}/x%2Fy%3Fz").json()["items"]
    assert item["seen"] is None
    assert item["trace"]["why"] == "slow"


@databases
@pytest.mark.parametrize("name", ["nobody", "x" * 65, "x" * 5000, "größe", "'; --"])
def test_nothing_is_kept_of_it(now: float, viewer_api: APIClient, name: str) -> None:
    del now
    answer = viewer_api.get(f"{PATH}/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "RequestNotFound")


@databases
def test_who_has_the_name_now_reads_nothing_of_before(now: float, viewer_api: APIClient) -> None:
    traced(replace(TRACED, at=now - 29.9))
    made = timezone.now() - timedelta(seconds=5)
    Project.objects.create(name="alpha", created_by="ada")
    Endpoint.objects.update(project="alpha", created_at=made)
    member = make_user("mona", "member")
    member_set(project="alpha", username="mona", role="viewer", actor="ada")
    client = APIClient()
    client.force_authenticate(member)
    assert viewer_api.get(f"{PATH}/a").status_code == 200
    assert client.get(f"{PATH}/a").json()["code"] == "RequestNotFound"


@databases
def test_they_go_with_the_other_samples(now: float) -> None:
    traced(replace(TRACED, at=now))
    prune(now=now + 3600)
    assert RequestTrace.objects.count() == 1
    prune(now=now + 6 * 3600 + 1)
    assert RequestTrace.objects.count() == 0


@databases
def test_a_node_says_what_it_likes(now: float) -> None:
    """Of replicas that are its own, and so many; whatever it calls them."""
    wild = replace(TRACED, id="x" * 500, at=now, spans=(replace(SPAN, execution="e" * 500),) * 500)
    traced(*[wild] * 500)
    assert RequestTrace.objects.count() == MOST_TRACES
    row = RequestTrace.objects.earliest("id")
    assert (len(row.request_id), len(row.execution), len(row.data["spans"])) == (64, 32, 101)


@databases
def test_a_node_tells_of_its_own_replicas_only(now: float) -> None:
    other = SimulatedNode("n2")
    body = SampleBatch((), None, (replace(TRACED, at=now),))
    answer = other.post("samples", body)
    assert answer.status_code == 200
    assert answer.json()["request_salt"] == request_salt()
    assert RequestTrace.objects.count() == 0


def seen(at: float, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "at": at, "receive_us": 0.0, "duration_us": 1e6, "host": "h", "replica": "r",
        "deployment": "blue",
    }  # fmt: skip
    return {**row, **more}


def kept(at: float, replica: str = "r", deployment: str = "blue") -> RequestTrace:
    return RequestTrace(at=at, replica_id=replica, deployment=deployment)


@pytest.mark.parametrize(
    ("rows", "traces", "pairs"),
    [
        ([seen(10)], [kept(10.1)], [(10, 10.1)]),
        ([seen(10), seen(11)], [kept(11.1), kept(10.1)], [(11, 11.1), (10, 10.1)]),
        ([seen(10)], [kept(30)], [(None, 30), (10, None)]),
        ([seen(10, duration_us=25e6)], [kept(30)], [(10, 30)]),
        ([seen(10, duration_us=None)], [kept(10.1)], [(10, 10.1)]),
        ([seen(10)], [kept(10.1, "another")], [(None, 10.1), (10, None)]),
        ([seen(10, replica="")], [kept(10.1, "another")], [(10, 10.1)]),
        ([seen(10)], [kept(10.1, deployment="green")], [(None, 10.1), (10, None)]),
        ([seen(10, host="")], [kept(10.1)], [(None, 10.1), (10, None)]),
        ([], [], []),
    ],
)
def test_what_belongs_together(
    rows: list[Any], traces: list[RequestTrace], pairs: list[tuple[float | None, float | None]]
) -> None:
    found = [
        (one["at"] if one else None, trace.at if trace else None)
        for one, trace in paired(rows, traces)
    ]
    assert found == pairs
