"""Live series by increments are those of all samples, and cost what is new."""

import random
from typing import Any

import pytest

from controlplane.metrics import series
from controlplane.metrics.models import GatewaySample, NodeSample, ReplicaSample
from controlplane.metrics.selectors import Following
from controlplane.metrics.selectors.following import WHOLE_EVERY_S
from controlplane.metrics.selectors.live import _sources, live_keys
from tests.support.rows_read import rows_read

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
START = 1_700_000_000.0


def replica(at: float, name: str, count: float, *, started: float = 0.0, size: int = 4) -> Any:
    model = {
        "model": "digits", "version": "1", "request_success": count, "inference_count": 2 * count,
        "exec_count": count, "request_duration_us": 1000 * count, "instances": 1.0,
        "batch_counts": {str(size): count}, "batch_compute_us": {str(size): 90 * count},
    }  # fmt: skip
    data = {
        "replica_id": name, "deployment": name[0], "at": at, "memory_bytes": 10, "models": [model],
        "started_at": started, "cpu_seconds": count / 10,
    }  # fmt: skip
    return ReplicaSample(
        endpoint="digits", deployment=name[0], replica_id=name, node=f"n{name[1]}", at=at, data=data
    )


def gateway(at: float, count: int) -> Any:
    data = {
        "deployment": "a", "at": at, "interval_s": 0.5, "requests": count,
        "status_classes": {"2xx": count}, "histogram": {"40": count},
    }  # fmt: skip
    return GatewaySample(endpoint="digits", deployment="a", at=at, data=data)


def host(at: float, name: str) -> Any:
    info = {"cpu_utilization": at % 1, "memory_used_bytes": 5, "disk_total_bytes": 9}
    return NodeSample(node_id=name, node=name, at=at, data=info)


def anew(now: float) -> tuple[list[str], list[float | None]]:
    keys = live_keys("digits", now)
    sources = _sources("digits", now - series.LOOKBACK_S, now)
    return keys, series.values(sources, keys, now, told=now - series.TOLD_AFTER_S)


def test_each_tick_is_what_reading_all_anew_would_give() -> None:
    """Replicas that come, start again and go; gateways in no order; what comes late."""
    chance = random.Random(18)
    following = Following("digits")
    counts = {"a1": 1000.0, "a2": 0.0, "b1": 50.0}
    late: list[Any] = []
    for step in range(320):
        now = START + step / 2
        if step == 150:
            counts["a1"] = 0.0  # its process is another
        came = {
            name: count
            for name, count in counts.items()
            if not (name == "a2" and step < 60) and not (name == "b1" and step > 120)
        }
        for name in came:
            counts[name] += chance.randrange(5)
        rows = [
            replica(
                now - 0.1, name, counts[name], started=START + 29 if name == "a2" else 1.0,
                size=8 if step < 40 else 4,
            )
            for name in came
        ]  # fmt: skip
        if chance.random() < 0.05:
            late.append(rows.pop())
        elif late and chance.random() < 0.3:
            rows.append(late.pop())
        ReplicaSample.objects.bulk_create(chance.sample(rows, len(rows)))
        GatewaySample.objects.bulk_create(
            gateway(now - chance.random(), chance.randrange(9)) for _ in range(2)
        )
        if step % 4 == 0:
            NodeSample.objects.bulk_create(host(now - 0.2, name) for name in ("n1", "n2", "x"))
        ticked = following.tick(now)
        if step % 5 == 0:
            keys, values = anew(now)
            assert ticked[0] == keys, step
            assert ticked[1] == pytest.approx(values, nan_ok=True), step


def test_a_tick_decodes_what_is_new_and_nothing_else() -> None:
    names = [f"a{number}" for number in range(20)]
    for step in range(140):
        at = START + step / 2
        ReplicaSample.objects.bulk_create(replica(at, name, step) for name in names)
    following = Following("digits")
    now = START + 70
    following.tick(now)
    ReplicaSample.objects.bulk_create(replica(now + 0.4, name, 140) for name in names)
    with rows_read("metrics") as one:
        following.tick(now + 0.5)
    with rows_read("metrics") as all_of_them:
        anew(now + 0.5)
    assert one.characters * 50 < all_of_them.characters
    with rows_read("metrics") as again:
        following.tick(now + WHOLE_EVERY_S + 1)
    assert again.characters > 10 * one.characters, "now and then all is read, for what came late"
