"""Single replicas: which are shown, what their series say, and how far back they are known."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.metrics import selectors
from controlplane.metrics.formulas import OF_REPLICAS
from controlplane.metrics.models import ReplicaSample
from controlplane.metrics.selectors.replicas import Seen, chosen
from controlplane.metrics.types import KEEP_SAMPLES_S

START = 1_700_000_040
database = pytest.mark.django_db(databases=["default", "metrics"])


def sampled(
    replica: str, per_s: float, seconds: range, *, deployment: str = "blue", node: str = "n1"
) -> None:
    """Samples of a replica that answers ``per_s`` requests a second, half of them waited for."""
    ReplicaSample.objects.bulk_create(
        ReplicaSample(
            endpoint="digits",
            deployment=deployment,
            replica_id=replica,
            node=node,
            at=float(START + at),
            data={
                "replica_id": replica,
                "deployment": deployment,
                "at": float(START + at),
                "memory_bytes": 100,
                "models": [
                    {
                        "model": "digits",
                        "version": "1",
                        "request_success": per_s * at,
                        "request_duration_us": 1000 * per_s * at,
                        "queue_duration_us": 500 * per_s * at,
                        "instances": 2.0,
                        "busy_us": 10_000 * per_s * at,
                    }
                ],
            },
        )
        for at in seconds
    )


def column(found: selectors.History, key: str) -> list[float | None]:
    return found.v[found.keys.index(key)]


@pytest.mark.parametrize(
    ("last", "names"),
    [
        ({}, []),
        ({"b": 99, "a": 100}, ["a", "b"]),
        ({"gone": 10, "a": 100, "b": 99, "longer": 5}, ["a", "b", "gone"]),
        ({"d": 100, "c": 71, "b": 99, "a": 95}, ["a", "b", "c"]),  # all there: not by their moments
    ],
)
def test_who_is_there_comes_first(last: dict[str, float], names: list[str]) -> None:
    seen = [Seen("blue", name, at) for name, at in last.items()]
    assert [one.replica_id for one in chosen(seen, 100.0, most=3)] == names


def test_the_gateway_knows_no_replica() -> None:
    assert {"request_rate", "queue_us", "compute_infer_us", "busy", "memory_bytes"} <= {
        *OF_REPLICAS
    }
    assert not {"p95_us", "error_rate", "answers_2xx", "received"} & {*OF_REPLICAS}


@database
@pytest.mark.parametrize(
    ("range_s", "step_s"), [(60, 5), (600, 5), (3600, 10), (6 * 3600, 60), (86_400, 300)]
)
def test_each_replica_has_its_own_line(range_s: int, step_s: int) -> None:
    sampled("r0", 10.0, range(0, 1201, 2))
    sampled("r1", 30.0, range(0, 1201, 2), deployment="green")
    query = selectors.Query(START + 1200 - range_s, START + 1200, step_s=5)
    metrics = ["request_rate", "queue_us", "busy", "memory_bytes"]
    answer = selectors.replica_history("digits", query, now=START + 1201, metrics=metrics)
    found = answer.found
    assert answer.left_out == 0
    assert (found.step_s, found.resolution) == (step_s, "samples")
    assert [key.partition(".")[2] for key in found.keys] == (
        ["replica:blue/r0"] * 4 + ["replica:green/r1"] * 4
    )
    last = found.t.index(max(t for t in found.t if t <= START + 1200))
    assert column(found, "request_rate.replica:blue/r0")[last] == pytest.approx(10)
    assert column(found, "request_rate.replica:green/r1")[last] == pytest.approx(30)
    assert column(found, "queue_us.replica:green/r1")[last] == pytest.approx(500)
    assert column(found, "busy.replica:blue/r0")[last] == pytest.approx(0.05)
    assert column(found, "memory_bytes.replica:blue/r0")[last] == 100


@database
def test_where_nothing_was_sampled_there_is_a_gap() -> None:
    sampled("r0", 10.0, range(0, 61, 2))
    sampled("r0", 10.0, range(120, 181, 2))
    query = selectors.Query(START + 10, START + 180, step_s=10)
    answer = selectors.replica_history("digits", query, now=START + 181, metrics=["memory_bytes"])
    values = dict(zip(answer.found.t, answer.found.v[0], strict=True))
    assert values[START + 60] == 100
    assert [values[START + at] for at in (80, 90, 100, 110)] == [None] * 4
    assert values[START + 130] == 100


@database
def test_filters_and_the_bound() -> None:
    for index in range(14):
        sampled(f"r{index:02}", 10.0, range(0, 21, 2), node="n1" if index < 13 else "n2")
    sampled("other", 10.0, range(0, 21, 2), deployment="green")
    query = selectors.Query(START, START + 20, step_s=5)

    def asked(**filters: Any) -> tuple[set[str], int]:
        answer = selectors.replica_history("digits", query, now=START + 20, **filters)
        return {key.partition(":")[2] for key in answer.found.keys}, answer.left_out

    assert asked() == ({f"blue/r{index:02}" for index in range(12)}, 3)
    assert asked(deployment="green") == ({"green/other"}, 0)
    assert asked(node="n2") == ({"blue/r13"}, 0)


@database
def test_beyond_six_hours_nothing_is_known() -> None:
    sampled("r0", 10.0, range(0, 61, 2))
    late = START + KEEP_SAMPLES_S + 61
    query = selectors.Query(START, START + 60, step_s=5)
    gone = selectors.replica_history("digits", query, now=late)
    assert (gone.found.keys, gone.found.t) == ([], [])


@database
@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("by=node", "by"),
        ("by=replica&metrics=p95_us", "metrics"),
        ("by=replica&metrics=speed", "metrics"),
        ("deployment=blue", "deployment"),
    ],
)
def test_what_cannot_be_asked_is_said(api: APIClient, asked: str, field: str) -> None:
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    answer = api.get(f"/api/v1/endpoints/digits/metrics?{asked}")
    assert answer.status_code == 400
    assert field in answer.json()["errors"]


@database
def test_replicas_over_the_api(api: APIClient) -> None:
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    answer = api.get("/api/v1/endpoints/digits/metrics?by=replica&range=900&metrics=busy,queue_us")
    assert answer.status_code == 200
    assert (answer.json()["keys"], answer.json()["left_out"]) == ([], 0)
    whole = api.get("/api/v1/endpoints/digits/metrics?range=900")
    assert "left_out" not in whole.json()
