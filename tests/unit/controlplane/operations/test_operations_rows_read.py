"""However many operations there were, questions read a few rows, and old ones are dropped."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, QuerySet
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState
from controlplane.nodes.models import Node
from controlplane.nodes.services import nodes_expire
from controlplane.operations.models import Operation
from controlplane.operations.selectors import (
    latest_operations,
    operation_list,
    operations_active,
    settled_to_keep,
)
from controlplane.operations.services import gateway_confirmed, operations_prune, operations_tick
from controlplane.operations.services.reports import GatewayFacts, LeftOutPart
from controlplane.operations.types import OperationState
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register
from tests.support.rows_read import rows_read
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
NOW = timezone.now()
MANY = 400


def operations_add(
    count: int,
    *,
    endpoint: str = "a",
    deployment: str = "blue",
    age: timedelta = timedelta(),
    state: OperationState = OperationState.SUCCEEDED,
) -> list[str]:
    """Ids, the oldest first; the newest is ``age`` old."""
    before = Operation.objects.count()
    rows = [
        Operation(
            id=f"op-{before + number}",
            kind="deploy",
            endpoint=endpoint,
            deployment=deployment,
            state=state,
            deadline_at=NOW,
            created_by="dora",
            finished_at=None if state == OperationState.RUNNING else NOW - age,
        )
        for number in range(count)
    ]
    Operation.objects.bulk_create(rows)
    for number, row in enumerate(rows):
        row.created_at = NOW - age - timedelta(seconds=count - number)
    Operation.objects.bulk_update(rows, ["created_at"])
    return [row.id for row in rows]


@pytest.fixture
def endpoint() -> Endpoint:
    made = Endpoint.objects.create(name="a", created_by="dora")
    version = model_register()
    for name in ("blue", "green"):
        deployment_add(made, version, name)
    return made


def settled(count: int, begin: int = 0) -> None:
    """So many endpoints with a deployment of two replicas that serve, on two nodes of their own."""
    version = model_register()
    for number in range(begin, begin + count):
        made = Endpoint.objects.create(name=f"e{number}", created_by="dora")
        row = deployment_add(
            made, version, instance_count=2, provisioning_state=DeploymentState.SUCCEEDED
        )
        for ordinal in range(2):
            node = Node.objects.create(
                id=f"{number}-{ordinal}", name=f"n{number}-{ordinal}", last_seen_at=NOW,
                online_since=NOW, info={"backends": ["onnxruntime"]},
            )  # fmt: skip
            Replica.objects.create(
                id=f"{number}-{ordinal}", deployment=row, revision=row.revision, node=node,
                ordinal=ordinal, state=ReplicaState.READY, observed={"state": "ready"},
            )  # fmt: skip


def test_a_tick_over_what_serves_reads_nothing_of_it_however_much_there_is() -> None:
    settled(2)
    few = read_by(lambda: operations_tick(now=NOW))
    settled(20, begin=2)
    assert read_by(lambda: operations_tick(now=NOW)) == few


def test_a_report_of_a_gateway_reads_what_it_may_confirm() -> None:
    settled(10)
    Endpoint.objects.update(confirmed_generation=F("generation"))
    told = dict(Endpoint.objects.values_list("name", "generation"))
    quiet = GatewayFacts("g1", NOW, silent=False, generations=told)

    def report(**left_out: list[LeftOutPart]) -> None:
        gateway_confirmed(generation_by_endpoint=told, left_out=left_out, gateways=[quiet])

    assert read_by(report) == 0
    Endpoint.objects.filter(name="e3").update(confirmed_generation=0)
    assert read_by(report) >= 1
    assert Endpoint.objects.filter(confirmed_generation=F("generation")).count() == 10
    Endpoint.objects.filter(name="e4").update(unconfirmed=[{"gateway": "g1", "silent_since": ""}])
    report()
    assert Endpoint.objects.exclude(unconfirmed=[]).count() == 0
    part = LeftOutPart("g1", told["e5"], "e5", "no certificate")
    report(e5=[part])
    assert [row.name for row in Endpoint.objects.exclude(left_out=[])] == ["e5"]
    report()
    assert Endpoint.objects.exclude(left_out=[]).count() == 0
    silent = replace(quiet, silent=True, generations={})
    gateway_confirmed(generation_by_endpoint=told, gateways=[silent])
    assert Endpoint.objects.exclude(unconfirmed=[]).count() == 10


def test_a_report_without_news_asks_little_and_nothing_of_trials(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits", "instance_count": 3}, format="json")
    node.bring_up()
    with rows_read("default", "metrics") as read:
        node.report()
    # rows: its own, twice, the fleet's size, its replicas. Two queries find none: who watches, what
    # is autoscaled. Two write, two are the savepoint of this test's transaction.
    assert (read.queries, read.rows) == (10, 6)


def test_the_states_of_nodes_are_looked_at_where_they_may_change() -> None:
    settled(10)
    assert read_by(lambda: nodes_expire(now=NOW)) == 0
    later = NOW + timedelta(seconds=60)
    assert nodes_expire(now=later) == 20
    assert read_by(lambda: nodes_expire(now=later)) == 0, "all are offline already"


UNSETTLED: dict[str, Callable[[], Any]] = {
    "a replica failed": lambda: first(Replica).update(state=ReplicaState.FAILED),
    "a replica is in trouble": lambda: first(Replica).update(error={"code": "x"}),
    "a replica rests": lambda: first(Replica).update(retire_generation=1),
    "a replica goes": lambda: first(Replica).update(desired=Desired.STOPPED),
    "a replica lacks": lambda: first(Replica).delete(),
    "an ordinal lacks": lambda: first(Replica).update(ordinal=2),
    "an ordinal is there twice": lambda: first(Replica).update(ordinal=1),
    "more are wanted": lambda: first(Deployment).update(instance_count=3),
    "fewer are wanted": lambda: first(Deployment).update(instance_count=1),
    "none is wanted": lambda: first(Deployment).update(instance_count=0),
    "it was in trouble": lambda: first(Deployment).update(error={"code": "x"}),
    "a node fell silent": lambda: first(Node).update(last_seen_at=NOW - timedelta(seconds=21)),
}


def first(model: type[Replica | Deployment | Node]) -> QuerySet[Any]:
    """Its first row, alone."""
    rows: QuerySet[Any] = model._default_manager.order_by("pk")
    return rows.filter(pk=rows[0].pk)


@pytest.mark.parametrize("change", UNSETTLED)
def test_a_tick_looks_at_what_may_need_something(change: str) -> None:
    settled(2)
    assert settled_to_keep(NOW) == []
    UNSETTLED[change]()
    assert [pk for pk, _ in settled_to_keep(NOW)] == [Deployment.objects.order_by("pk")[0].pk]


def test_a_deployment_without_replicas_that_wants_none_needs_nothing() -> None:
    settled(1)
    Replica.objects.all().delete()
    Deployment.objects.update(instance_count=0)
    assert settled_to_keep(NOW) == []


def read_by(ask: Callable[[], Any]) -> int:
    with rows_read("default", "metrics") as read:
        ask()
    return read.rows


def test_questions_read_as_much_as_before_when_there_were_many(
    endpoint: Endpoint, api: APIClient
) -> None:
    def ok(path: str) -> Callable[[], None]:
        def ask() -> None:
            assert api.get(f"/api/v1/{path}").status_code == 200

        return ask

    asked: dict[str, Callable[[], Any]] = {
        "an endpoint": ok("endpoints/a"),
        "endpoints": ok("endpoints"),
        "a deployment": ok("endpoints/a/deployments/blue"),
        "active ones": lambda: list(operations_active("a")),
        "a tick": lambda: operations_tick(now=NOW),
        "the overview": ok("overview"),
    }
    operations_add(10)  # as many as the overview shows, and more
    for ask in asked.values():
        ask()  # what is asked once
    before = {name: read_by(ask) for name, ask in asked.items()}
    operations_add(MANY)
    after = {name: read_by(ask) for name, ask in asked.items()}
    assert after == before


def test_the_latest_of_each_deployment_is_found(endpoint: Endpoint) -> None:
    assert latest_operations(["a"]) == {}
    blue = operations_add(3, deployment="blue")
    green = operations_add(2, deployment="green", age=timedelta(days=3))
    operations_add(1, deployment="gone")
    operations_add(1, endpoint="b", deployment="blue")
    expected = {("a", "blue"): blue[-1], ("a", "green"): green[-1]}
    assert latest_operations(["a"]) == latest_operations() == expected
    assert latest_operations(["b"]) == {}


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (lambda: operations_active(), "operation_active"),
        (lambda: operation_list()[:10], "operation_newest"),
        (
            lambda: Operation.objects.filter(endpoint="a", deployment="b").order_by("-created_at"),
            "operation_latest",
        ),
    ],
)
def test_an_index_answers(rows: Callable[[], QuerySet[Operation]], index: str) -> None:
    if connection.vendor == "postgresql":  # of a small table it reads all by itself
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    assert index in rows().explain()


def test_what_ended_long_ago_is_dropped(endpoint: Endpoint, settings: Settings) -> None:
    settings.SHOAL_OPERATION_RETENTION_DAYS = 30
    old = timedelta(days=31)
    blue = operations_add(3, deployment="blue", age=old)
    operations_add(600, deployment="gone", age=old)
    running = operations_add(1, deployment="green", age=old, state=OperationState.RUNNING)
    green = operations_add(1, deployment="green", age=timedelta(days=29))
    assert operations_prune(now=NOW) == 602
    # the latest of a deployment, what has not ended, and what is not old
    assert set(Operation.objects.values_list("pk", flat=True)) == {blue[-1], *running, *green}
    assert operations_prune(now=NOW) == 0


def test_nothing_is_dropped_where_all_is_kept(settings: Settings) -> None:
    settings.SHOAL_OPERATION_RETENTION_DAYS = 0
    operations_add(2, age=timedelta(days=9999))
    assert operations_prune(now=NOW) == 0
    assert Operation.objects.count() == 2
