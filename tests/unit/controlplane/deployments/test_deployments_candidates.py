"""Of many nodes the best few are read, and the answer is the one that all of them give."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from controlplane.deployments import placement
from controlplane.deployments.models import Deployment, Endpoint, InstanceType, Replica
from controlplane.deployments.services import candidates
from controlplane.deployments.services.capacity import fleet, need_of, offers, subject_of
from controlplane.deployments.spec import Spec
from controlplane.nodes.models import Node
from controlplane.operations import services
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register
from tests.support.rows_read import rows_read

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
NOW = timezone.now()
GB = 10**9


def nodes_add(count: int, begin: int = 0, **info: Any) -> None:
    Node.objects.bulk_create(
        Node(
            id=f"{number:04x}",
            name=f"n{number}",
            last_seen_at=NOW,
            online_since=NOW,
            info={"backends": ["onnxruntime"], "cpu_count": 8, **info},
        )
        for number in range(begin, begin + count)
    )


def any_fleet(dice: random.Random) -> list[Deployment]:
    """Nodes of all kinds, some with GPUs, some full, some closed or silent; what runs on them."""
    nodes_add(dice.randint(1, 24))
    for node in Node.objects.order_by("pk"):
        node.name = dice.choice(["a-b", "A", "ab", "b_", "Ab-"]) + node.name
        node.cordoned = dice.random() < 0.2
        node.last_seen_at = NOW - timedelta(seconds=dice.choice([0, 0, 0, 7, 300]))
        if dice.random() < 0.8:
            free = dice.choice([0, 3, 50, 50, 70]) * GB
            node.info |= {"disk_total_bytes": 100 * GB, "disk_free_bytes": free}
        cards = dice.choice([0, 0, 2])
        node.info["gpus"] = [
            {"uuid": f"{node.pk}-{card}", "name": "T4", "memory_total_bytes": 16 * GB}
            for card in range(cards)
        ]
        node.save()
    made = Endpoint.objects.create(name="e", created_by="dora")
    versions = [model_register("digits"), model_register("letters")]
    rows = [deployment_add(made, dice.choice(versions), f"d{number}") for number in range(3)]
    for number in range(dice.randint(0, 40)):
        row = dice.choice(rows)
        Replica.objects.create(
            id=f"r{number}", deployment=row, revision=row.revision, ordinal=number,
            node=dice.choice(Node.objects.order_by("pk")),
            state=dice.choice(["pending", "downloading", "loading", "ready", "failed"]),
            desired=dice.choice(["running", "running", "stopped"]),
        )  # fmt: skip
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_the_best_few_give_the_answer_of_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "FEW", 0)
    monkeypatch.setattr(candidates, "MORE", 2)
    dice = random.Random(seed)
    kinds = [
        None,
        InstanceType(name="gpu", gpu_count=1),
        InstanceType(name="wish", gpu_count=1, gpu_policy="preferred"),
        InstanceType(name="cpu", cpu_count=2),
    ]
    for row in any_fleet(dice):
        subject = subject_of(row)
        for kind in kinds:
            row.revision.instance_type = kind
            need = need_of(row, tuple(range(dice.randint(1, 6))))
            need = replace(need, one_per_node=dice.random() < 0.5)
            leaving = dice.sample(list(Node.objects.values_list("pk", flat=True)), 1)
            whole = placement.offers_of(fleet(NOW).closed(leaving), subject)
            said = candidates.placed(need, subject, NOW, leaving=leaving)
            expected = placement.place(need, whole)
            assert (said.assigned, said.unplaced) == (expected.assigned, expected.unplaced)
            if expected.unplaced:
                assert said.refusals == expected.refusals


def test_the_order_of_the_database_is_that_of_placement() -> None:
    for row in any_fleet(random.Random(3)):
        subject = subject_of(row)
        open_to = [offer for offer in offers(subject, NOW) if not offer.cordoned]
        expected = [offer.node_id for offer in sorted(open_to, key=placement.at_best)]
        assert candidates._best(subject, 100, ()) == expected


def test_a_rollout_reads_as_much_as_before_when_there_are_more_nodes() -> None:
    model_register()
    nodes_add(60)
    few = read_by_deploy("first")
    # queries, with savepoints of this test's transaction, and two of its project: lock and quota
    assert few[0] <= 57
    nodes_add(300, begin=60)
    assert read_by_deploy("second") <= few


def test_gpus_are_given_by_a_look_at_the_nodes_that_were_chosen() -> None:
    model_register()
    InstanceType.objects.create(name="one-card", gpu_count=1)
    nodes_add(60, gpus=[{"uuid": "T4-0", "name": "T4", "memory_total_bytes": 16 * GB}])
    few = read_by_deploy("first", instance_type="one-card")
    nodes_add(300, begin=60, gpus=[{"uuid": "T4-0", "name": "T4", "memory_total_bytes": 16 * GB}])
    assert read_by_deploy("second", instance_type="one-card") <= few
    assert all(row.gpus == ["T4-0"] for row in Replica.objects.all())


def read_by_deploy(endpoint: str, now: datetime = NOW, **spec: Any) -> tuple[int, int]:
    """Queries and rows of an operation from its beginning to replicas that nodes know of."""
    asked = Spec(model="digits", instance_count=4, **spec)
    with rows_read("default", "metrics") as read:
        services.deploy(spec=asked, endpoint=endpoint, deployment="", actor="dora", now=now)
    assert Replica.objects.filter(deployment__endpoint__name=endpoint).count() == 4
    return read.queries, read.rows
