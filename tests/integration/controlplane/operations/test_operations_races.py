"""Deploying, moving traffic, cancelling and deleting at the same moment, on a real PostgreSQL.

SQLite has one writer at a time, so only here can two changes be in their transactions together.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations
from typing import cast

import pytest
from django.db import connection, connections
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.config.celery import app, tasks_import
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.operations.models import Operation, Rollout
from controlplane.operations.services import autoscale, rollouts_look
from tests.support.carried_load import carry
from tests.support.gateway_counts import counted
from tests.support.placed_replicas import blue_and_green
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = [
    pytest.mark.django_db(databases=["default", "metrics"], transaction=True),
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="only PostgreSQL has concurrent writers"
    ),
]
DIGITS = "/api/v1/endpoints/digits"
MOST_ROUNDS = 12
SETTLED = ["Succeeded", "Failed", "Canceled"]
# What each may be answered: done, or a refusal that names what came first.
DONE, REFUSED = {200, 201, 202, 204}, {404, 409}

Change = Callable[[APIClient], int]


def deploy_another(client: APIClient) -> int:
    body = {"name": "red", "model": "digits", "traffic": 20}
    return client.post(f"{DIGITS}/deployments", body).status_code


def deploy_the_same(client: APIClient) -> int:
    return client.post("/api/v1/deploy", {"model": "digits", "endpoint": "digits"}).status_code


def supersede_green(client: APIClient) -> int:
    body = {"environment": {"APP_A": "2"}}
    return client.post(f"{DIGITS}/deployments/green/update?supersede=true", body).status_code


def scale_blue(client: APIClient) -> int:
    return client.patch(f"{DIGITS}/deployments/blue", {"instance_count": 2}).status_code


def move_traffic(client: APIClient) -> int:
    answer = client.put(f"{DIGITS}/traffic", {"traffic": {"blue": 100}})
    # who came first may be about to take ``blue`` away: then it may get no traffic any more
    gone = answer.status_code == 400 and answer.json()["code"] == "TrafficInvalid"
    return 409 if gone else answer.status_code


def cancel(client: APIClient) -> int:
    operation = Operation.objects.filter(deployment="green").order_by("created_at")[0]
    return client.post(f"/api/v1/operations/{operation.pk}/cancel").status_code


def delete_green(client: APIClient) -> int:
    return client.delete(f"{DIGITS}/deployments/green?force=true").status_code


def delete_blue(client: APIClient) -> int:
    return client.delete(f"{DIGITS}/deployments/blue?force=true").status_code


def delete_endpoint(client: APIClient) -> int:
    return client.delete(DIGITS).status_code


CHANGES: list[Change] = [
    deploy_another, deploy_the_same, supersede_green, scale_blue, move_traffic, cancel,
    delete_green, delete_blue, delete_endpoint,
]  # fmt: skip
PAIRS = list(combinations([deploy_another, move_traffic, cancel, delete_green, delete_endpoint], 2))


def reconcile() -> None:
    app.tasks["deployments.reconcile"]()


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    """Runs ``blue``, and is amid the start of ``green``, which is to get half of the traffic."""
    tasks_import()  # as a worker does when it starts
    model_register()
    node = SimulatedNode()
    assert api.post("/api/v1/deploy", {"model": "digits"}).status_code == 202
    node.bring_up()
    gateway_confirms()
    body = {"name": "green", "model": "digits", "traffic": 50}
    assert api.post(f"{DIGITS}/deployments", body).status_code == 202
    node.desired()
    node.report()
    return node


def at_once(*parts: Callable[[], object]) -> list[object]:
    """What each returns, all begun at the same moment; raises what one of them raises."""
    start = threading.Barrier(len(parts))

    def run(part: Callable[[], object]) -> object:
        start.wait()
        try:
            return part()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(run, parts))


def unfinished() -> list[Operation]:
    return list(Operation.objects.exclude(state__in=SETTLED))


def settle(node: SimulatedNode) -> None:
    """Until all operations have ended, and twice more for what they leave to upkeep: a replica
    that requests came to goes once gateways have confirmed that they leave it out."""
    after = 0
    for _ in range(MOST_ROUNDS):
        after += not unfinished()
        reconcile()
        node.bring_up()
        gateway_confirms()
        if after == 2:
            return


def assert_whole() -> None:
    """What holds once nothing is under way, whoever came first."""
    assert unfinished() == []
    for operation in Operation.objects.all():
        told = Event.objects.filter(data__operation=operation.pk, verb="operation.started")
        assert told.count() == 1, operation
    for endpoint in Endpoint.objects.all():
        names = set(endpoint.deployments.values_list("name", flat=True))
        assert set(endpoint.traffic) <= names
        assert sum(endpoint.traffic.values()) in {0, 100}
        assert endpoint.provisioning_state == "Succeeded"
        assert endpoint.confirmed_generation <= endpoint.generation
    for deployment in Deployment.objects.all():
        assert deployment.provisioning_state in SETTLED, deployment
        if deployment.provisioning_state == "Succeeded":
            running = deployment.replicas.filter(desired="running").values_list("state", flat=True)
            assert list(running) == ["ready"] * deployment.instance_count, deployment
    for replica in Replica.objects.exclude(desired="running"):
        assert (replica.desired, replica.state) == ("stopped", "stopped"), replica


def at_once_by(
    changes: Sequence[Change], build: Callable[[], APIClient], *others: Callable[[], object]
) -> set[int]:
    """How ``changes`` are answered, each asked by a client of its own, beside ``others``."""
    asked = [partial(change, build()) for change in changes]
    return {cast("int", status) for status in at_once(*asked, *others)[: len(changes)]}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(one.__name__ for one in pair))
def test_two_changes_at_once(
    pair: tuple[Change, Change],
    node: SimulatedNode,
    deployer: User,
    client_of: Callable[[User], APIClient],
) -> None:
    build = partial(client_of, deployer)
    answers = at_once_by(pair, build, reconcile, node.bring_up, gateway_confirms)
    assert answers <= DONE | REFUSED
    settle(node)
    assert_whole()


@pytest.mark.parametrize("change", [scale_blue, move_traffic, delete_blue, delete_endpoint])
def test_two_workers_autoscale_beside_a_person(
    change: Change,
    api: APIClient,
    node: SimulatedNode,
    deployer: User,
    client_of: Callable[[User], APIClient],
) -> None:
    policy = {"max": 5, "targets": {"in_flight": 1}, "up": {"cooldown_s": 0}}
    assert api.patch(f"{DIGITS}/deployments/blue", {"autoscale": policy}).status_code == 200
    carry(timezone.now(), 3.0)
    look = partial(autoscale, now=timezone.now())
    answers = at_once_by([change], partial(client_of, deployer), look, look, reconcile)
    assert answers <= DONE | REFUSED
    assert Operation.objects.filter(created_by="autoscaler").count() <= 1
    settle(node)
    assert_whole()


def promote(client: APIClient) -> int:
    return client.post(f"{DIGITS}/rollouts/{Rollout.objects.get().pk}/promote").status_code


def abort(client: APIClient) -> int:
    return client.post(f"{DIGITS}/rollouts/{Rollout.objects.get().pk}/abort").status_code


@pytest.mark.parametrize("change", [promote, abort, move_traffic, delete_endpoint])
def test_two_workers_judge_a_rollout_beside_a_person(
    change: Change, api: APIClient, deployer: User, client_of: Callable[[User], APIClient]
) -> None:
    """It ends once, and the traffic is what that end made of it."""
    blue_and_green()
    body = {"deployment": "green", "steps": [{"percent": 10}, {"percent": 100}]}
    assert api.post(f"{DIGITS}/rollouts", body).status_code == 201
    counted(time.time(), blue=(900, 0), green=(100, 30))
    look = partial(rollouts_look, now=timezone.now())
    answers = at_once_by([change], partial(client_of, deployer), look, look)
    assert answers <= DONE | REFUSED
    endings = ("withdrawn", "succeeded", "aborted", "superseded")
    assert Event.objects.filter(verb__in=[f"rollout.{one}" for one in endings]).count() == 1
    row = Rollout.objects.get()
    if change is not delete_endpoint:
        promoted = row.state == "Succeeded"
        assert Endpoint.objects.get().traffic == ({"green": 100} if promoted else {"blue": 100})


@pytest.mark.parametrize("seed", range(4))
def test_everything_at_once(
    seed: int,
    node: SimulatedNode,
    deployer: User,
    client_of: Callable[[User], APIClient],
) -> None:
    changes = random.Random(seed).sample(CHANGES, len(CHANGES))
    build = partial(client_of, deployer)
    answers = at_once_by(changes, build, reconcile, reconcile, node.bring_up, gateway_confirms)
    assert answers <= DONE | REFUSED
    settle(node)
    assert_whole()
