"""Samples made into what replicas carry, figure by figure."""

from typing import Any

import pytest

from controlplane.deployments.models import DeploymentRevision, InstanceType, Replica
from controlplane.metrics import series
from controlplane.nodes.models import Node
from controlplane.operations.services.loads import Pace, load_of

NOW = 1_000_000.0
PACE = Pace(2.0)
CARDS = [{"uuid": "g0", "utilization": 0.8}, {"uuid": "g1", "utilization": 0.2}]


MIG = {"uuid": "MIG-a", "utilization": None}


def row(key: str, *, gpus: list[str] | None = None, kind: InstanceType | None = None) -> Replica:
    node = Node(
        id="n",
        name="n",
        info={"cpu_count": 4, "gpus": [*CARDS, MIG] if gpus == ["MIG-a"] else CARDS},
    )
    return Replica(id=key, node=node, revision=DeploymentRevision(instance_type=kind), gpus=gpus)


def samples(key: str, *, age_s: float = 0.0, **counted: float) -> list[dict[str, Any]]:
    """Two, two seconds apart; ``counted`` in that time, pending at its end."""
    cpu, pending = counted.pop("cpu_seconds", 0.0), counted.pop("pending", 0.0)
    refused = counted.pop("refused", 0.0)
    return [
        {
            "deployment": "blue", "replica_id": key, "at": NOW - age_s - 2 + 2 * share,
            "cpu_seconds": cpu * share,
            "models": [
                {
                    "model": "m", "version": "1", "instances": 2,
                    "request_failure": {"REJECTED": refused * share},
                    "pending_request_count": pending * share,
                    **{name: value * share for name, value in counted.items()},
                }
            ],
        }
        for share in (0, 1)
    ]  # fmt: skip


def load(rows: list[Replica], *told: list[dict[str, Any]]) -> Any:
    tracks = series.tracks(sample for one in told for sample in one)
    return load_of({key: made for (_, key), made in tracks.items()}, rows, NOW, PACE)


def test_sums_and_means_over_two_replicas() -> None:
    first = samples(
        "a", request_success=20, request_duration_us=8e6, queue_duration_us=2e6, busy_us=2e6,
        pending=4, refused=6, cpu_seconds=4,
    )  # fmt: skip
    second = samples("b", request_success=20, request_duration_us=2e6)
    found = load([row("a"), row("b")], first, second)
    assert (found.serving, found.sampled, found.at) == (2, 2, NOW)
    assert found.requests_per_second == pytest.approx(20)
    assert found.refused == pytest.approx(3)
    assert (found.waiting, found.growth) == (4, pytest.approx(2))
    assert found.in_flight == pytest.approx(4 - 1 + 1 + 4)  # executing in the mean, and waiting now
    assert found.queue_ms == pytest.approx(50)
    assert found.busy == pytest.approx(0.25)  # one second a second, of four instances
    assert found.cpu == pytest.approx(0.5)  # two of four processors


def test_long_requests_are_in_flight_before_they_have_ended() -> None:
    assert load([row("a")], samples("a", busy_us=4e6)).in_flight == pytest.approx(2)


@pytest.mark.parametrize(
    ("age_s", "serving", "sampled"), [(0.0, 2, 1), (5.0, 2, 1), (7.0, None, None)]
)
def test_a_replica_without_a_fresh_sample_is_missed(
    age_s: float, serving: int | None, sampled: int | None
) -> None:
    found = load([row("a"), row("b")], samples("a", age_s=age_s, request_success=2))
    assert (found and found.serving, found and found.sampled) == (serving, sampled)


def test_nobody_waited_where_nobody_came() -> None:
    assert load([row("a")], samples("a")).queue_ms == 0
    assert load([row("a")], samples("a", pending=3)).queue_ms is None
    assert load([], samples("a")) is None


def test_processors_are_those_of_the_instance_type_where_it_says() -> None:
    kind = InstanceType(cpu_count=2)
    assert load([row("a", kind=kind)], samples("a", cpu_seconds=3)).cpu == pytest.approx(0.75)
    unknown = row("a")
    unknown.node.info = {}
    assert load([unknown], samples("a", cpu_seconds=3)).cpu is None


@pytest.mark.parametrize(
    ("gpus", "total"),
    [
        ([["g0"], ["g1"]], 1.0),
        ([["g0"], ["g0"]], 0.8),  # they share it: a third would bring no more
        ([["g0", "g1"]], 0.5),
        ([None], 0.5),
        ([["gone"]], None),
        ([["g0"], ["MIG-a"]], None),  # it does not tell, which is not that it idles
    ],
)
def test_a_gpu_counts_once(gpus: list[list[str] | None], total: float | None) -> None:
    rows = [row(str(index), gpus=cards) for index, cards in enumerate(gpus)]
    found = load(rows, *[samples(one.pk) for one in rows])
    assert found.gpu == (None if total is None else pytest.approx(total))
