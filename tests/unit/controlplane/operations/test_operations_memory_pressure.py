"""Replicas without GPU memory: what is done about them as a table, and over simulated nodes."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, GpuFootprint, Replica
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.services.capacity import footprint_remember, need_of
from controlplane.deployments.types import Desired, Failure, ReplicaState
from controlplane.operations import services
from controlplane.operations.reconcile import (
    Action,
    Chosen,
    Move,
    ReplicaFacts,
    Rest,
    Restart,
    Retire,
    mitigate,
    to_move,
    upkeep,
)
from tests.support.registered_models import model_register
from tests.support.simulated_node import HEALTHY_WALK, SimulatedNode, gateway_confirms
from tests.unit.controlplane.operations.test_operations_reconcile import replica
from wire.messages import GpuInfo, ObservedReplica, Problem

GB = 10**9
R = ReplicaState
FULL = Failure("GpuOutOfMemory", "Model 'm' ran out of GPU memory 3 times within 5 minutes.")
SOON, LATE = timedelta(minutes=6), timedelta(hours=2)


def pressed(**changes: object) -> ReplicaFacts:
    return replica(R.READY, error=FULL, **changes)


def other(state: ReplicaState = R.READY, **changes: Any) -> ReplicaFacts:
    return replica(state, **{"id": "r1", "ordinal": 1, **changes})


ELSEWHERE = {"r0": Chosen(assigned=((0, "n2"),))}
NOWHERE = {"r0": Chosen(unplaced=(0,), why_not="n2: has no GPU with 20.0 GB free")}


@pytest.mark.parametrize(
    ("replicas", "alternatives", "actions"),
    [
        ((replica(R.READY),), {}, ()),
        ((replica(R.READY, error=Failure("AgentError", "else")),), {}, ()),
        ((pressed(),), {}, (Restart(("r0",)),)),  # alone: nobody else could serve meanwhile
        ((pressed(), other()), {}, (Rest(("r0",)),)),
        ((pressed(), other(error=FULL)), {}, (Rest(("r0",)),)),  # one at a time
        ((pressed(resting=True), other(error=FULL)), {}, ()),
        ((pressed(), other(R.LOADING)), {}, ()),  # the other one will serve soon
        ((pressed(), other(R.FAILED)), {}, (Restart(("r0",)),)),
        ((pressed(), other(R.UNKNOWN)), {}, (Restart(("r0",)),)),
        ((pressed(relieved=LATE),), {}, (Restart(("r0",)),)),  # it had helped
        ((pressed(relieved=SOON),), ELSEWHERE, (Move("r0", 0, "n2"),)),
        ((pressed(relieved=SOON),), NOWHERE, ()),
        ((pressed(relieved=SOON), other(error=FULL)), ELSEWHERE, (Rest(("r1",)),)),
        ((pressed(relieved=SOON), other(R.LOADING, ordinal=0, replaces="r0")), ELSEWHERE, ()),
        ((pressed(relieved=SOON), other(R.FAILED, ordinal=0, replaces="r0")), ELSEWHERE, ()),
        ((pressed(relieved=SOON), other(ordinal=0, replaces="r0")), {}, (Retire(("r0",)),)),
        ((replica(R.READY), other(ordinal=0, replaces="r0")), {}, (Retire(("r0",)),)),
        ((other(ordinal=0, replaces="r0"),), {}, ()),  # it is gone
        ((pressed(desired=Desired.RETIRING),), {}, ()),
        ((pressed(silence=timedelta(minutes=3)),), {}, ()),
        ((replica(R.FAILED, error=FULL),), ELSEWHERE, (Move("r0", 0, "n2"),)),
        ((replica(R.FAILED, error=FULL),), NOWHERE, ()),
    ],
)
def test_what_is_done_about_a_lack_of_gpu_memory(
    replicas: tuple[ReplicaFacts, ...], alternatives: dict[str, Chosen], actions: tuple[Action, ...]
) -> None:
    assert mitigate(replicas, alternatives).actions == actions


@pytest.mark.parametrize(
    ("replicas", "found"),
    [
        ((pressed(),), []),
        ((pressed(relieved=LATE),), []),
        ((pressed(relieved=SOON),), ["r0"]),
        ((pressed(relieved=SOON), other(ordinal=0, replaces="r0")), []),
        ((replica(R.FAILED, error=FULL),), ["r0"]),
        ((replica(R.FAILED, error=Failure("CrashLoop", "else")),), []),
        ((replica(R.LOADING, error=FULL),), []),
    ],
)
def test_who_should_have_another_place(
    replicas: tuple[ReplicaFacts, ...], found: list[str]
) -> None:
    assert [fact.id for fact in to_move(replicas)] == found


def test_what_cannot_move_stays_and_says_why() -> None:
    needed = upkeep(
        (pressed(relieved=SOON),), instance_count=1, chosen=Chosen(), alternatives=NOWHERE
    )
    assert needed.actions == ()
    assert needed.blocker is not None
    assert needed.blocker.code == "GpuOutOfMemory"
    assert "nothing else can take it" in needed.blocker.message
    assert FULL.message in needed.blocker.detail
    assert "n2: has no GPU with 20.0 GB free" in needed.blocker.detail


def test_one_that_goes_elsewhere_is_not_also_started_again() -> None:
    failed = replica(R.FAILED, error=FULL, state_age=timedelta(minutes=1))
    moved = upkeep((failed,), instance_count=1, chosen=Chosen(), alternatives=ELSEWHERE)
    assert moved.actions == (Move("r0", 0, "n2"),)
    stays = upkeep((failed,), instance_count=1, chosen=Chosen(), alternatives=NOWHERE)
    assert stays.actions == (Restart(("r0",)),)


# Over simulated nodes

BLUE = "/api/v1/endpoints/digits/deployments/blue"
OUT_OF_MEMORY = Problem(
    "GpuOutOfMemory", "Model 'digits' ran out of GPU memory 3 times.", hints=("h",)
)
Pair = tuple[SimulatedNode, SimulatedNode]
database = pytest.mark.django_db(databases=["default", "metrics"])


def node(name: str, *, used: int = 0, cards: int = 1) -> SimulatedNode:
    return SimulatedNode(
        name, gpus=tuple(GpuInfo(i, f"GPU-{name}-{i}", "T4", 16 * GB, used) for i in range(cards))
    )


def deploy(api: APIClient, **wanted: object) -> None:
    model_register()
    body = {"model": "digits", **wanted}
    assert api.post("/api/v1/deploy", body, format="json").status_code == 202


def come_up(at: SimulatedNode) -> None:
    at.desired()
    for state in HEALTHY_WALK:
        for key, seen in at.replicas.items():
            if seen.state != "ready":
                ports = {"http_port": at.port, "grpc_port": at.port + 1}
                at.replicas[key] = replace(seen, state=state, error=None, **ports)
        at.report()


def serve(api: APIClient, *nodes: SimulatedNode, **wanted: object) -> None:
    """Deployed, ready on all of ``nodes``, and known to the gateways."""
    deploy(api, **wanted)
    for at in nodes:
        come_up(at)
    gateway_confirms()


@pytest.fixture
def pair(api: APIClient) -> Pair:
    """Two nodes, each with a replica of blue that serves."""
    nodes = SimulatedNode("one"), SimulatedNode("two")
    serve(api, *nodes, instance_count=2)
    return nodes


def run_out_of_memory(at: SimulatedNode) -> ObservedReplica:
    (key,) = at.replicas
    at.replicas[key] = replace(at.replicas[key], error=OUT_OF_MEMORY)
    at.report()
    return at.replicas[key]


def verbs() -> list[str]:
    return list(Event.objects.filter(subject="endpoint/digits").values_list("verb", flat=True))


@database
def test_the_only_replica_is_started_again_then_moves_make_before_break(api: APIClient) -> None:
    one, two = node("one"), node("two", used=16 * GB)  # no room there yet
    serve(api, one, instance_type="gpu")
    run_out_of_memory(one)
    row = Replica.objects.get()
    assert (row.generation, row.state) == (2, "pending")
    assert row.relieved_at is not None
    restarted = Event.objects.get(verb="replica.restarted")
    assert OUT_OF_MEMORY.message in restarted.message
    assert Event.objects.filter(verb="replica.strained").count() == 1
    come_up(one)
    assert Replica.objects.get().error is None

    run_out_of_memory(one)
    shown = api.get(BLUE).json()
    assert shown["error"]["code"] == "GpuOutOfMemory"
    assert "two: has not 1 GPU" in shown["error"]["detail"]
    assert "the replica ran out of memory on T4" in shown["error"]["detail"]
    assert shown["replicas"][0]["error"]["message"] == OUT_OF_MEMORY.message
    assert (shown["serving_state"], Replica.objects.count()) == ("Healthy", 1)
    before = verbs().count("deployment.healing")
    services.operations_tick(now=timezone.now())
    assert verbs().count("deployment.healing") == before, "told once"

    two.info = replace(two.info, gpus=(GpuInfo(0, "GPU-two-0", "T4", 16 * GB, 0),))
    two.report()
    services.operations_tick(now=timezone.now())
    old, new = Replica.objects.get(node__name="one"), Replica.objects.get(node__name="two")
    assert (new.replaces, new.gpus, new.avoid) == (old.pk, ["GPU-two-0"], ["GPU-one-0"])
    assert (old.desired, old.state) == ("running", "ready"), "it serves until its twin does"
    services.operations_tick(now=timezone.now())
    assert Replica.objects.count() == 2, "asked again, nothing is placed twice"
    come_up(two)
    old.refresh_from_db()
    assert old.desired == "retiring"
    gateway_confirms()
    services.operations_tick(now=timezone.now())
    one.desired()
    one.report()
    services.operations_tick(now=timezone.now())
    assert Replica.objects.get().pk == new.pk
    shown = api.get(BLUE).json()
    assert (shown["error"], shown["serving_state"]) == (None, "Healthy")


@database
def test_another_gpu_of_the_node_is_another_place(api: APIClient) -> None:
    one = node("one", cards=2)
    serve(api, one, instance_type="gpu")
    first = Replica.objects.get().gpus
    run_out_of_memory(one)
    come_up(one)
    run_out_of_memory(one)
    twin = Replica.objects.exclude(replaces="").get()
    assert twin.gpus is not None and twin.gpus != first


@database
def test_where_another_one_serves_traffic_leaves_before_the_restart(pair: Pair) -> None:
    one, two = pair
    key = run_out_of_memory(one).replica_id
    row = Replica.objects.get(pk=key)
    assert (row.generation, row.state, row.desired) == (1, "ready", "running")
    (blue,) = routing_view().endpoints[0].deployments
    assert {r.replica_id: r.draining for r in blue.replicas}[key] is True
    run_out_of_memory(two)
    services.operations_tick(now=timezone.now())
    assert Replica.objects.filter(generation=1).count() == 2, "gateways have not confirmed"
    gateway_confirms()
    services.operations_tick(now=timezone.now())
    row.refresh_from_db()
    assert (row.generation, row.state, row.retire_generation) == (2, "pending", None)
    services.operations_tick(now=timezone.now())
    assert Replica.objects.filter(generation=1).count() == 1, "one after the other"
    come_up(one)
    services.operations_tick(now=timezone.now())
    assert Replica.objects.get(node__name="two").retire_generation is not None


@database
def test_what_harms_a_resting_replica_meanwhile_ends_its_rest(pair: Pair) -> None:
    one, _ = pair
    key = run_out_of_memory(one).replica_id
    one.say("starting", error=None)
    gateway_confirms()
    services.operations_tick(now=timezone.now())
    row = Replica.objects.get(pk=key)
    assert (row.generation, row.retire_generation) == (1, None)


def fails_to_load(at: SimulatedNode, needed: int) -> None:
    at.desired()
    at.say("failed", error=replace(OUT_OF_MEMORY, message="does not fit"), gpu_needed_bytes=needed)


@database
def test_a_load_without_memory_is_remembered_until_the_configuration_changes(
    api: APIClient,
) -> None:
    one = node("one")
    deploy(api, instance_type="gpu")
    fails_to_load(one, 20 * GB)
    known = GpuFootprint.objects.get()
    assert (known.least_bytes, known.kind, known.node_name) == (20 * GB, "gpu", "one")
    (verdict,) = api.get(f"{BLUE}/placement").json()["items"]
    (check,) = [check for check in verdict["checks"] if check["name"] == "gpus"]
    day = f"{timezone.now():%Y-%m-%d}"
    assert "1 GPU with 20.0 GB free" in check["detail"]
    assert f"(with less it could not be loaded on one on {day})" in check["detail"]
    preview = {"model": "digits", "instance_type": "gpu"}
    (item,) = api.post("/api/v1/placement/preview", preview, format="json").json()["items"]
    assert "with less it could not be loaded on one" in str(item["checks"])

    row = Deployment.objects.get()
    assert need_of(row, (0,)).gpu.least_free_bytes == 20 * GB
    row.revision.config_revision_id = 7
    assert need_of(row, (0,)).gpu.least_free_bytes == 0, "another configuration may need less"
    row.revision.config_revision_id = None
    GpuFootprint.objects.update(seen_at=timezone.now() - timedelta(hours=25))
    assert need_of(row, (0,)).gpu.least_free_bytes == 0, "a day later it may be tried again"


@database
def test_the_larger_of_two_bounds_is_kept(api: APIClient) -> None:
    one = node("one")
    deploy(api, instance_type="gpu")
    fails_to_load(one, 20 * GB)
    row = Replica.objects.get()
    for needed, kept in ((18 * GB, 20), (22 * GB, 22)):
        footprint_remember(row, needed, timezone.now())
        assert GpuFootprint.objects.get().least_bytes == kept * GB


@database
def test_one_that_fails_to_load_again_goes_where_there_is_room(api: APIClient) -> None:
    one, two = node("one"), node("two", used=16 * GB)
    serve(api, one, instance_type="gpu")
    large = (GpuInfo(0, "GPU-two-0", "A100", 40 * GB, 0),)
    two.info = replace(two.info, gpus=large)
    two.report()
    one.say("failed", error=OUT_OF_MEMORY, gpu_needed_bytes=20 * GB)
    moved = Replica.objects.get(desired="running")
    assert (moved.node.name, moved.gpus, moved.replaces) == ("two", ["GPU-two-0"], "")
    assert Replica.objects.get(node__name="one").desired == "stopped"
