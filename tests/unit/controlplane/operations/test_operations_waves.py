"""Very many replicas start some at a time, and the operation says how far it is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.deployments.models import Deployment, Replica
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import (
    Case,
    Chosen,
    Finish,
    Place,
    ReplicaFacts,
    Route,
    missing_ordinals,
    operation_step,
    stages_new,
    wave_of,
    waves,
)
from controlplane.operations.services import operations_tick
from controlplane.operations.types import OperationKind
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode

NOW = datetime(2026, 11, 21, tzinfo=UTC)
READY, LOADING = ReplicaState.READY, ReplicaState.LOADING


def replicas(*states: ReplicaState) -> tuple[ReplicaFacts, ...]:
    return tuple(
        ReplicaFacts(
            id=f"r{number}",
            ordinal=number,
            node=f"n{number}",
            desired=Desired.RUNNING,
            state=state,
            state_age=timedelta(0),
            silence=timedelta(0),
            node_offline=False,
        )
        for number, state in enumerate(states)
    )


def case(count: int, size: int, *states: ReplicaState) -> Case:
    there = replicas(*states)
    missing = missing_ordinals(there, count)
    return Case(
        kind=OperationKind.DEPLOY,
        stages=stages_new(OperationKind.DEPLOY),
        now=NOW,
        deadline_at=NOW + timedelta(hours=1),
        cancel_requested=False,
        instance_count=count,
        replicas=there,
        spec_failure=None,
        chosen=Chosen(assigned=tuple((ordinal, f"n{ordinal}") for ordinal in missing)),
        route_generation=None,
        confirmed_generation=0,
        wave_size=size,
    )


@pytest.mark.parametrize(
    ("count", "size", "states", "text", "room"),
    [
        (3, 0, (), "", 3),
        (3, 3, (), "", 3),
        (7, 2, (), "wave 1 of 4", 2),
        (7, 2, (LOADING, LOADING), "wave 1 of 4", 0),
        (7, 2, (READY, LOADING), "wave 2 of 4", 1),  # one more may begin
        (7, 2, (READY,) * 2, "wave 2 of 4", 2),
        (7, 2, (READY,) * 6, "wave 4 of 4", 2),
        (7, 2, (READY,) * 7, "wave 4 of 4", 2),
    ],
)
def test_where_it_stands(
    count: int, size: int, states: tuple[ReplicaState, ...], text: str, room: int
) -> None:
    found = wave_of(case(count, size, *states))
    assert (found.text, found.room) == (text, room)


@pytest.mark.parametrize(
    ("replicas", "size", "count"), [(0, 50, 1), (50, 50, 1), (51, 50, 2), (9, 0, 1)]
)
def test_how_many_waves(replicas: int, size: int, count: int) -> None:
    assert waves(replicas, size) == count


@given(count=st.integers(0, 40), size=st.integers(0, 9))
def test_never_more_than_a_wave_at_a_time_and_all_in_the_end(count: int, size: int) -> None:
    now = case(count, size)
    begun = []
    for _ in range(6 * count + 20):
        step = operation_step(now)
        now = replace(now, stages=step.stages)
        if Finish() in step.actions:
            break
        if Route() in step.actions:
            now = replace(now, route_generation=1, confirmed_generation=1)
        for action in step.actions:
            if isinstance(action, Place):
                begun.append(len(action.assigned))
                states = [replica.state for replica in now.replicas]
                grown = case(count, size, *states, *[LOADING] * len(action.assigned))
                now = replace(grown, stages=now.stages)
        if not step.actions and any(replica.state == LOADING for replica in now.replicas):
            ready = case(count, size, *[READY] * len(now.replicas))
            now = replace(ready, stages=now.stages)
    else:
        pytest.fail(f"it does not end: {now}")
    assert sum(begun) == count
    assert all(number <= (size or count) for number in begun)
    assert len(begun) == (waves(count, size) if count else 0)


def test_the_stages_say_the_wave() -> None:
    placed = operation_step(case(4, 2, LOADING, LOADING))
    details = {stage.name.value: stage.detail for stage in placed.stages}
    assert details["place"] == "wave 1 of 2: on n0, n1"
    assert details["load"] == "wave 1 of 2: loading: 0 of 2 replica(s)"


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_deployment_to_many_nodes_goes_in_waves(settings: Settings, api: APIClient) -> None:
    settings.SHOAL_WAVE_REPLICAS = 2
    nodes = {f"n{number}": SimulatedNode(f"n{number}") for number in range(5)}
    model_register()
    api.post("/api/v1/deploy", {"model": "digits", "instance_count": 5}, format="json")
    seen = []
    for _ in range(3):
        seen.append(Replica.objects.count())
        operation = Operation.objects.get()
        running = next(stage for stage in operation.stages if stage["status"] == "running")
        assert running["detail"].startswith(f"wave {len(seen)} of 3: ")
        begun = Replica.objects.exclude(state=READY).values_list("node__name", flat=True)
        for name in list(begun):
            nodes[name].bring_up()
    assert seen == [2, 4, 5]
    operations_tick(now=datetime.now(UTC))
    stages = {stage["name"]: stage["status"] for stage in Operation.objects.get().stages}
    assert (stages["warm"], stages["route"]) == ("succeeded", "running")
    assert Deployment.objects.get().replicas.filter(state=READY).count() == 5
