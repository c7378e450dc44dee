"""Which step of a pipeline takes the time, and which one fails: from figures, and from what is
stored."""

import time
from datetime import datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Project, User
from controlplane.bottlenecks.pipeline import CallFigures, StepFigures, marked
from controlplane.bottlenecks.pipeline_reads import pipeline_of
from controlplane.console import frames, reads
from controlplane.console.feeds import PipelineFeed
from controlplane.console.outbox import Outbox
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.metrics.models import ReplicaSample
from tests.support.deployment_rows import deployment_add
from tests.support.project_world import member
from tests.support.registered_models import model_register

PATH = "/api/v1/endpoints/{}/deployments/blue/pipeline"


def step(name: str, queue_us: float, compute_us: float, **changes: Any) -> StepFigures:
    known: dict[str, Any] = {
        "name": name, "step": True, "requests": 100.0, "queue_us": queue_us,
        "compute_us": compute_us,
    }  # fmt: skip
    return StepFigures(**(known | changes))


ENSEMBLE = StepFigures(
    name="pipe", executes=False, requests=100.0, queue_us=900.0, compute_us=900.0, failed=3.0
)


@pytest.mark.parametrize(
    ("steps", "slow"),
    [
        pytest.param([step("a", 10, 90), step("b", 10, 300)], {"b": "compute"}, id="computes"),
        pytest.param([step("a", 10, 90), step("b", 300, 10)], {"b": "queue"}, id="waits"),
        pytest.param([step("a", 0, 100), step("b", 0, 91)], {}, id="nearly as much"),
        pytest.param([step("a", 0, 100), step("b", 0, 89)], {"a": "compute"}, id="a tenth less"),
        pytest.param(
            [step("a", 0, 100, requests=300.0), step("b", 0, 200)],
            {"a": "compute"},
            id="called three times a request",
        ),
        pytest.param([step("a", 0, 100)], {}, id="one step alone"),
        pytest.param(
            [step("a", 0, 100, requests=9.0), step("b", 0, 1, requests=9.0)], {}, id="too few"
        ),
        pytest.param([step("a", 0, 100), step("b", 0, 0, requests=0.0)], {}, id="one is asked"),
        pytest.param([ENSEMBLE, step("a", 0, 60), step("b", 0, 20)], {"a": "compute"}, id="whole"),
        pytest.param([], {}, id="nothing loaded"),
    ],
)
def test_the_step_that_takes_the_time_is_marked(
    steps: list[StepFigures], slow: dict[str, str]
) -> None:
    assert {one.figures.name: one.slow for one in marked(steps) if one.slow} == slow


def caller(compute_us: float, call_us: float, busy: float = 1.0) -> StepFigures:
    """Of 100 requests, each with two calls of ``call_us``; ``busy``: of their time in batches."""
    calls = CallFigures(
        caller="c", callee="net", calls=200, last_at=1.0, ended=200, total_us=200 * call_us
    )
    return step("c", 0, compute_us, calls=[calls], busy_us=100 * compute_us * busy)


@pytest.mark.parametrize(
    ("one", "own_us", "slow"),
    [
        pytest.param(caller(100, 40), 20, {"net": "compute"}, id="it waits for what it calls"),
        pytest.param(caller(300, 40), 220, {"c": "compute"}, id="it computes itself"),
        pytest.param(caller(100, 80), 0, {"net": "compute"}, id="calls at once"),
        pytest.param(caller(100, 10, 0.5), 60, {"net": "compute"}, id="two requests a batch"),
        pytest.param(caller(100, 40, 0.0), 100, {"c": "compute"}, id="nothing is known"),
    ],
)
def test_what_a_model_waits_for_those_that_it_calls_is_theirs(
    one: StepFigures, own_us: float, slow: dict[str, str]
) -> None:
    assert one.own_us == pytest.approx(own_us)
    found = marked([one, step("net", 0, 80)])
    assert {one.figures.name: one.slow for one in found if one.slow} == slow
    assert sum(one.share or 0.0 for one in found) == pytest.approx(1)


def test_calls_say_how_many_a_request_leads_to_and_how_long_they_take() -> None:
    (calls,) = caller(100, 40).calls
    assert (calls.mean_us, calls.per_request(100), calls.per_request(0)) == (40, 2, None)
    quiet = CallFigures(caller="c", callee="net", calls=7, last_at=1.0)
    assert (quiet.mean_us, quiet.per_request(100), quiet.rate) == (None, None, None)


@pytest.mark.parametrize(
    ("now", "before", "faulty"),
    [
        (0.0, 0.0, ""),
        (0.0, 5.0, ""),
        (2.0, 1.0, "rising"),
        (2.0, 0.0, "rising"),
        (2.0, 1.4, "failing"),
        (2.0, 2.0, "failing"),
        (1.0, 2.0, "failing"),
    ],
)
def test_what_fails_is_marked(now: float, before: float, faulty: str) -> None:
    (one,) = marked([step("a", 1, 1, failed=now, failed_before=before)])
    assert one.faulty == faulty


def test_an_ensemble_is_marked_only_where_no_step_counted_a_failure() -> None:
    found = marked([ENSEMBLE, step("a", 1, 1, failed=1.0), step("b", 1, 1)])
    assert [one.faulty for one in found] == ["", "rising", ""]
    found = marked([ENSEMBLE, step("a", 1, 1), step("b", 1, 1)])
    assert [one.faulty for one in found] == ["rising", "", ""]


def test_shares_are_of_all_that_executes() -> None:
    found = marked([ENSEMBLE, step("a", 20, 40), step("b", 0, 30), step("c", 0, 5, requests=200.0)])
    assert [one.share for one in found] == [None, 0.6, 0.3, 0.1]
    assert [one.share for one in marked([step("a", 0, 0, requests=0.0)])] == [None]


def counters(model: str, number: int, queue_us: float, infer_us: float, **more: Any) -> Any:
    """After so many requests in batches of two."""
    return {
        "model": model, "version": "1", "step": True, "instances": 1.0, "request_success": number,
        "inference_count": number, "exec_count": number / 2,
        "request_duration_us": number * (queue_us + infer_us), "busy_us": number * infer_us / 2,
        "queue_duration_us": number * queue_us, "compute_infer_duration_us": number * infer_us,
        "pending_request_count": 3.0, **more,
    }  # fmt: skip


def sample(at: float, number: int, failed: int) -> ReplicaSample:
    whole = counters("pipe", number, 700, 500, step=False, instances=0.0)
    gone = {"BACKEND": failed, "CANCELED": 50 * failed}
    data = {
        "replica_id": "r1", "endpoint": "digits", "deployment": "blue", "at": at,
        "models": [
            whole,
            counters("prepare", number, 100, 200, request_failure={"CANCELED": number}),
            counters("net", number, 600, 300, request_failure=gone),
        ],
    }  # fmt: skip
    return ReplicaSample(
        endpoint="digits", deployment="blue", replica_id="r1", node="n1", at=at, data=data
    )


@pytest.fixture
def loaded(db: None) -> tuple[Deployment, float]:
    """A pipeline at 50 requests a second, whose second step begins to fail eight seconds ago."""
    del db
    now = time.time()
    endpoint = Endpoint.objects.create(name="digits", created_by="dora", traffic={"blue": 100})
    row = deployment_add(endpoint, model_register("digits"))
    ReplicaSample.objects.bulk_create(
        sample(now - 36 + 2 * index, 100 * index, max(0, index - 14)) for index in range(19)
    )
    return row, now


@pytest.mark.django_db(databases=["default", "metrics"])
def test_what_was_measured_becomes_steps(loaded: tuple[Deployment, float]) -> None:
    row, now = loaded
    row.endpoint.created_at = row.endpoint.created_at.replace(year=2020)
    whole, net, prepare = pipeline_of(row, now)["models"]
    assert (whole["name"], whole["step"], whole["executes"]) == ("pipe", False, False)
    assert (whole["share"], whole["faulty"], whole["slow"]) == (None, "", "")
    assert whole["request_us"] == pytest.approx(1200)
    assert net["request_rate"] == pytest.approx(50 + 51 * 4 / 10, rel=0.2)
    assert (net["queue_us"], net["compute_us"]) == (pytest.approx(600), pytest.approx(300))
    assert (net["mean_batch"], net["pending"]) == (pytest.approx(2), 3)
    assert net["share"] == pytest.approx(0.75)
    assert (net["slow"], net["faulty"], net["failure_rate"]) == ("queue", "rising", 0.4)
    assert (prepare["slow"], prepare["faulty"], prepare["failure_rate"]) == ("", "", 0.0)


def calling(replica: str, at: float, asked: int) -> ReplicaSample:
    """A model that calls ``net.a`` twice a request, and what is missing once in ten; it called
    ``old`` long ago."""
    called = {
        "calls": {"net.a": 2.0 * asked, "gone": asked / 10, "old": 5.0},
        "call_us": {"net.a": 3000.0 * asked, "gone": 10.0 * asked, "old": 500.0},
        "call_failures": {"net.a": 0.0, "gone": asked / 10, "old": 1.0},
        "last_call": {"net.a": 1.79e9 + asked, "gone": 1.7e9, "old": 1.6e9},
    }
    models = [
        counters("caller", asked, 0, 4000, step=False, **called),
        counters("net.a", 2 * asked, 0, 1500, step=False),
    ]
    data = {"replica_id": replica, "deployment": "blue", "at": at, "models": models}
    return ReplicaSample(
        endpoint="digits", deployment="blue", replica_id=replica, node="n1", at=at, data=data
    )


@pytest.mark.django_db(databases=["default", "metrics"])
def test_calls_of_models_are_added_up_over_replicas(viewer_api: APIClient) -> None:
    now = time.time()
    endpoint = Endpoint.objects.create(name="digits", created_by="dora", traffic={"blue": 100})
    endpoint.created_at = endpoint.created_at.replace(year=2020)
    endpoint.save()
    row = deployment_add(endpoint, model_register("digits"))
    for replica, before in (("r1", 1000), ("r2", 0)):
        ReplicaSample.objects.bulk_create(
            calling(replica, now - 24 + 2 * index, before + 100 * index) for index in range(13)
        )
    found = pipeline_of(row, now)
    assert [(one["caller"], one["callee"]) for one in found["calls"]] == [
        ("caller", "gone"), ("caller", "net.a"), ("caller", "old"),
    ]  # fmt: skip
    gone, net, old = found["calls"]
    assert (net["calls"], gone["calls"], old["calls"]) == (2 * 3400, 340, 10)
    assert net["call_rate"] == pytest.approx(200)
    assert (net["per_request"], net["mean_us"]) == (pytest.approx(2), pytest.approx(1500))
    assert (net["failure_rate"], gone["failure_rate"]) == (0, pytest.approx(10))
    assert (old["call_rate"], old["per_request"], old["mean_us"]) == (0, None, None)
    assert datetime.fromisoformat(net["last_at"]).timestamp() == 1.79e9 + 2200
    by_name = {one["name"]: one for one in found["models"]}
    # Half of its time in batches of two is that of 1500 µs a call, and more: it waits for them.
    assert (by_name["caller"]["share"], by_name["net.a"]["slow"]) == (0.0, "compute")
    shown = viewer_api.get(PATH.format("digits")).json()
    assert [one["calls"] for one in shown["calls"]] == [340, 6800, 10]


@pytest.mark.django_db(databases=["default", "metrics"])
def test_of_before_the_endpoint_was_made_nothing_is_told(loaded: tuple[Deployment, float]) -> None:
    row, now = loaded
    assert pipeline_of(row, now)["models"] == []


@pytest.mark.django_db(databases=["default", "metrics"])
def test_it_is_answered_and_to_others_it_is_not_there(
    loaded: tuple[Deployment, float], viewer_api: APIClient, client_of: Any
) -> None:
    del loaded
    Project.objects.create(name="alpha", created_by="ada")
    stranger: User = member("alpha", "viewer")
    answer = viewer_api.get(PATH.format("digits"))
    assert (answer.status_code, answer.json()["deployment"]) == (200, "blue")
    assert viewer_api.get(PATH.format("nobody")).json()["code"] == "EndpointNotFound"
    green = PATH.format("digits").replace("blue", "green")
    assert viewer_api.get(green).json()["code"] == "DeploymentNotFound"
    assert client_of(stranger).get(PATH.format("digits")).status_code == 404


class Kept(Outbox):
    """Keeps what is put in."""

    def __init__(self) -> None:
        self.got: list[str] = []

    def put(self, frame: str) -> None:
        self.got.append(frame)

    def put_tick(self, topic: str, frame: str) -> None:
        assert topic == "pipeline:digits/blue"
        self.got.append(frame)


@pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
async def test_the_topic_tells_at_every_beat_and_watches_the_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, str]] = []
    watched: list[str] = []

    def state(endpoint: str, deployment: str) -> dict[str, Any]:
        asked.append((endpoint, deployment))
        return {"models": []}

    monkeypatch.setattr(reads, "pipeline_state", state)
    monkeypatch.setattr(reads, "endpoint_watch", watched.append)
    request = frames.parse('{"op":"sub","topic":"pipeline:digits/blue"}')
    assert isinstance(request, frames.Subscribe)
    feed, outbox = PipelineFeed(request.topic), Kept()
    await feed.greet(outbox, request)
    feed.followers[outbox] = request
    await feed.beat()
    assert asked == [("digits", "blue")] * 2
    assert watched == ["digits"]
    assert (
        outbox.got == ['{"type":"state","topic":"pipeline:digits/blue","data":{"models":[]}}'] * 2
    )
    assert feed.concerns("endpoint/digits")
    assert not feed.concerns("endpoint/other")
