"""Operation steps and upkeep as tables, and the promise that every operation ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.deployments.types import Desired, Failure, ReplicaState
from controlplane.operations.reconcile import (
    Action,
    AskCandidate,
    Cancel,
    Case,
    Chosen,
    Fail,
    Finish,
    GateFacts,
    Place,
    Reach,
    Remove,
    ReplicaFacts,
    Restart,
    Route,
    Step,
    Stop,
    missing_ordinals,
    operation_step,
    revive_after,
    stages_new,
    upkeep,
)
from controlplane.operations.types import OperationKind, StageName, StageStatus

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NOTHING = timedelta(0)
LONG = timedelta(minutes=3)


def replica(state: ReplicaState = ReplicaState.PENDING, **changes: object) -> ReplicaFacts:
    base = ReplicaFacts(
        id="r0",
        ordinal=0,
        node="local",
        desired=Desired.RUNNING,
        state=state,
        state_age=NOTHING,
        silence=NOTHING,
        node_offline=False,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def case(kind: OperationKind = OperationKind.DEPLOY, **changes: object) -> Case:
    base = Case(
        kind=kind,
        stages=stages_new(kind),
        now=NOW,
        deadline_at=NOW + timedelta(minutes=15),
        cancel_requested=False,
        instance_count=1,
        replicas=(),
        spec_failure=None,
        chosen=Chosen(assigned=((0, "n1"),)),
        route_generation=None,
        confirmed_generation=0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def running(step: Step) -> str:
    return next(s.name.value for s in step.stages if s.status == StageStatus.RUNNING)


def told(step: Step, stage: str) -> tuple[str, float | None]:
    return next((s.detail, s.progress) for s in step.stages if s.name == stage)


@pytest.mark.parametrize(
    ("state", "stage"),
    [
        (ReplicaState.PENDING, "download"),
        (ReplicaState.DOWNLOADING, "download"),
        (ReplicaState.STARTING, "load"),
        (ReplicaState.LOADING, "load"),
        (ReplicaState.WARMING, "warm"),
        (ReplicaState.READY, "route"),
    ],
)
def test_the_stage_follows_the_replica(state: ReplicaState, stage: str) -> None:
    assert running(operation_step(case(replicas=(replica(state),)))) == stage


def test_packages_have_a_stage_once_a_node_installs_some() -> None:
    named = [stage.name for stage in operation_step(case(replicas=(replica(),))).stages]
    assert StageName.INSTALL not in named
    busy = replica(ReplicaState.STARTING, installing="Collecting scipy")
    step = operation_step(case(replicas=(busy,)))
    assert (running(step), told(step, "install")) == ("install", ("local: Collecting scipy", None))
    # the stage stays, whatever is seen of it later
    ready = replica(ReplicaState.LOADING, install_seconds=12.4)
    after = operation_step(case(stages=step.stages, replicas=(ready,)))
    assert (running(after), told(after, "install")) == ("load", ("installed", 1.0))


@pytest.mark.parametrize(
    ("other", "detail", "progress"),
    [
        (replica(ReplicaState.LOADING), "1 of 2 replica(s); local: pip", 0.5),
        (replica(ReplicaState.DOWNLOADING), None, None),
    ],
)
def test_whoever_needs_longest_for_packages_is_told_of(
    other: ReplicaFacts, detail: str | None, progress: float | None
) -> None:
    busy = replica(ReplicaState.STARTING, id="r1", ordinal=1, installing="pip")
    step = operation_step(case(replicas=(other, busy), instance_count=2))
    assert running(step) == ("install" if detail else "download")
    if detail:
        assert told(step, "install") == (detail, progress)


def test_packages_that_were_installed_unseen_are_told_of_afterwards() -> None:
    done = replica(ReplicaState.WARMING, install_seconds=3.2)
    step = operation_step(case(replicas=(done,)))
    assert (running(step), told(step, "install")) == ("warm", ("installed", 1.0))


def test_a_list_of_packages_that_cannot_be_installed_fails_its_own_stage() -> None:
    busy = replica(ReplicaState.STARTING, installing="Collecting nosuch")
    step = operation_step(case(replicas=(busy,)))
    failed = replica(ReplicaState.FAILED, error=Failure("ModelLoadFailed", "No matching"))
    ended = operation_step(case(stages=step.stages, replicas=(failed,)))
    assert next(s.name for s in ended.stages if s.status == StageStatus.FAILED) == "install"


def test_the_slowest_replica_decides() -> None:
    two = (replica(ReplicaState.READY), replica(ReplicaState.LOADING, id="r1", ordinal=1))
    assert running(operation_step(case(replicas=two, instance_count=2))) == "load"


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({}, Place(((0, "n1"),))),
        ({"replicas": (replica(ReplicaState.READY),)}, Route()),
        (
            {
                "replicas": (replica(ReplicaState.READY),),
                "route_generation": 7,
                "confirmed_generation": 7,
            },
            Finish(),
        ),
        ({"cancel_requested": True}, Cancel()),
        ({"spec_failure": Failure("BlobMissing", "gone")}, Fail(Failure("BlobMissing", "gone"))),
        (
            {"replicas": (replica(ReplicaState.FAILED, error=Failure("X", "broke")),)},
            Fail(Failure("X", "broke")),
        ),
        ({"replicas": (replica(ReplicaState.UNKNOWN, silence=LONG),)}, Stop(("r0",))),
        (
            {"replicas": (replica(ReplicaState.READY), replica(id="r1", ordinal=1))},
            Stop(("r1",)),
        ),
    ],
)
def test_what_must_happen_next(changes: dict[str, object], action: Action) -> None:
    assert operation_step(case(**changes)).actions == (action,)


def test_an_unconfirmed_route_waits() -> None:
    ready = case(
        replicas=(replica(ReplicaState.READY),), route_generation=8, confirmed_generation=7
    )
    step = operation_step(ready)
    assert step.actions == ()
    assert running(step) == "route"


def test_a_full_cluster_is_given_a_moment_then_the_operation_fails() -> None:
    full = Chosen(unplaced=(0,), why_not="local: cordoned")
    first = operation_step(case(chosen=full))
    assert first.actions == ()
    later = operation_step(case(chosen=full, stages=first.stages, now=NOW + timedelta(seconds=21)))
    (failed,) = later.actions
    assert isinstance(failed, Fail)
    assert (failed.failure.code, failed.failure.detail) == ("OutOfCapacity", "local: cordoned")


def test_the_deadline_says_how_far_it_got_and_who_was_waited_for() -> None:
    stages = operation_step(case(replicas=(replica(ReplicaState.LOADING),))).stages
    late = case(
        stages=stages,
        replicas=(replica(ReplicaState.LOADING, node_offline=True),),
        now=NOW + timedelta(hours=1),
    )
    (failed,) = operation_step(late).actions
    assert isinstance(failed, Fail)
    assert failed.failure.code == "DeadlineExceeded"
    assert "Load the model" in failed.failure.message
    assert "Node local is silent." in failed.failure.detail


def test_replicas_of_others_neither_hold_up_nor_break_an_operation() -> None:
    scaling = case(
        OperationKind.SCALE,
        instance_count=2,
        replicas=(
            replica(ReplicaState.FAILED, own=False),
            replica(ReplicaState.READY, id="r1", ordinal=1),
        ),
    )
    assert operation_step(scaling).actions == (Route(),)


def test_a_deletion_cannot_be_cancelled() -> None:
    deletion = case(OperationKind.DELETE_ENDPOINT, cancel_requested=True, instance_count=0)
    assert operation_step(deletion).actions == (Route(),)


@pytest.mark.parametrize(
    ("replicas", "chosen", "actions"),
    [
        ((replica(ReplicaState.READY),), Chosen(), ()),
        ((), Chosen(assigned=((0, "n2"),)), (Place(((0, "n2"),)),)),
        (
            (replica(ReplicaState.UNKNOWN, silence=LONG),),
            Chosen(assigned=((0, "n2"),)),
            (Stop(("r0",)), Place(((0, "n2"),))),
        ),
        ((replica(ReplicaState.UNKNOWN, silence=LONG),), Chosen(unplaced=(0,)), ()),
        ((replica(ReplicaState.FAILED, state_age=timedelta(seconds=5)),), Chosen(), ()),
        (
            (replica(ReplicaState.FAILED, state_age=timedelta(seconds=15)),),
            Chosen(),
            (Restart(("r0",)),),
        ),
        (
            (replica(ReplicaState.STOPPED, desired=Desired.STOPPED),),
            Chosen(),
            (Remove(("r0",)),),
        ),
        ((replica(ReplicaState.DRAINING, desired=Desired.STOPPED),), Chosen(), ()),
    ],
)
def test_upkeep(
    replicas: tuple[ReplicaFacts, ...], chosen: Chosen, actions: tuple[Action, ...]
) -> None:
    assert upkeep(replicas, instance_count=1, chosen=chosen).actions == actions


def test_a_failed_replica_rests_longer_each_time_but_never_forever() -> None:
    rests = [revive_after(attempts) for attempts in range(12)]
    assert rests == sorted(rests)
    assert rests[0] == timedelta(seconds=15)
    assert rests[-1] == timedelta(minutes=10)


def test_a_lost_replica_holds_no_ordinal() -> None:
    assert missing_ordinals((replica(silence=LONG),), 2) == (0, 1)
    assert missing_ordinals((replica(silence=NOTHING),), 2) == (1,)


def enact(current: Case, step: Step) -> Case:
    """What services do with a step, on values."""
    replicas = list(current.replicas)
    generation = current.route_generation
    for action in step.actions:
        match action:
            case Place(assigned):
                fresh = len(replicas)
                replicas += [
                    replica(id=f"r{fresh + i}", ordinal=ordinal)
                    for i, (ordinal, _) in enumerate(assigned)
                ]
                generation = None
            case Stop(ids):
                replicas = [
                    replace(r, desired=Desired.STOPPED) if r.id in ids else r for r in replicas
                ]
            case Route():
                generation = 5
    return replace(
        current, stages=step.stages, replicas=tuple(replicas), route_generation=generation
    )


reports = st.tuples(
    st.sampled_from(list(ReplicaState)),
    st.integers(0, 200),  # seconds of silence
    st.integers(0, 90),  # seconds until the next look
    st.booleans(),  # the gateway confirms
    st.booleans(),  # some node has room
)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(list(OperationKind)),
    count=st.integers(0, 3),
    events=st.lists(reports, max_size=40),
    cancel_at=st.none() | st.integers(0, 40),
)
def test_whatever_is_reported_an_operation_ends(
    kind: OperationKind,
    count: int,
    events: list[tuple[ReplicaState, int, int, bool, bool]],
    cancel_at: int | None,
) -> None:
    current = case(kind, instance_count=count)
    last = (ReplicaState.PENDING, 0, 3600, False, True)
    for index, (state, silence, pause, confirmed, room) in enumerate([*events, last, last]):
        missing = missing_ordinals(current.replicas, count)
        current = replace(
            current,
            now=current.now + timedelta(seconds=pause),
            cancel_requested=current.cancel_requested or index == cancel_at,
            confirmed_generation=5 if confirmed else 0,
            chosen=Chosen(assigned=tuple((o, "n") for o in missing))
            if room
            else Chosen(unplaced=missing),
            replicas=tuple(
                replace(r, state=state, silence=timedelta(seconds=silence))
                for r in current.replicas
            ),
        )
        for _ in range(20):
            step = operation_step(current)
            if any(isinstance(action, Finish | Fail | Cancel) for action in step.actions):
                return
            if step.stages == current.stages and not step.actions:
                break
            current = enact(current, step)
            missing = missing_ordinals(current.replicas, count)
            current = replace(
                current,
                chosen=Chosen(assigned=tuple((o, "n") for o in missing))
                if room
                else Chosen(unplaced=missing),
            )
        else:
            pytest.fail("the same moment asks for ever more steps")
    pytest.fail(f"still running: {current.stages}")


ASKED = NOW - timedelta(seconds=20)
LONG_AGO = NOW - timedelta(minutes=8)
READY = (replica(ReplicaState.READY),)
REFUSED = Failure("GoldenCasesFailed", "otherwise")


@pytest.mark.parametrize(
    ("changes", "gate", "expected"),
    [
        ({}, {}, Reach()),
        ({}, {"generation": 7}, "waiting for the gateway to confirm"),
        ({"confirmed_generation": 7}, {"generation": 7}, AskCandidate()),
        ({"candidate_asked": ASKED}, {"generation": 7}, "asking"),
        ({"candidate_asked": NOW - timedelta(seconds=65)}, {"generation": 7}, AskCandidate()),
        ({"candidate_asked": LONG_AGO, "candidate_began": ASKED}, {"generation": 7}, "asking"),
        (
            {"candidate_asked": LONG_AGO, "candidate_began": NOW - timedelta(seconds=95)},
            {"generation": 7},
            AskCandidate(),
        ),
        (
            {"candidate_asked": LONG_AGO, "candidate_began": ASKED},
            {"generation": 7, "waits": True, "unanswered": ("'two'",)},
            AskCandidate(),
        ),
        (
            {"candidate_asked": LONG_AGO, "candidate_began": NOW - timedelta(seconds=5)},
            {"generation": 7, "waits": True, "unanswered": ("'two'",)},
            "not answered: 'two'; asking again",
        ),
        ({"candidate_asked": ASKED, "candidate_answered": True}, {"told": "right"}, Route()),
        (
            {"candidate_asked": ASKED, "candidate_answered": True},
            {"failure": REFUSED},
            Fail(REFUSED),
        ),
        ({"replicas": (), "instance_count": 0}, {}, Route()),
        ({"cancel_requested": True}, {"generation": 7}, Cancel()),
    ],
)
def test_golden_cases_come_before_the_route(
    changes: dict[str, object], gate: dict[str, Any], expected: Action | str
) -> None:
    stages = stages_new(OperationKind.DEPLOY, asks=True)
    asked = case(stages=stages, replicas=READY, gate=GateFacts(**gate))
    step = operation_step(replace(asked, **changes))  # type: ignore[arg-type]
    if isinstance(expected, str):
        assert (step.actions, told(step, "golden")[0]) == ((), expected)
    else:
        assert step.actions == (expected,)


@pytest.mark.parametrize(
    ("unanswered", "asked", "says"),
    [
        ((), NOW, "Nobody has asked"),
        ((), None, "No gateway has said"),
        (("'two'",), NOW, "It has not answered"),
    ],
)
def test_golden_cases_are_not_asked_for_ever(
    unanswered: tuple[str, ...], asked: datetime | None, says: str
) -> None:
    stages = stages_new(OperationKind.DEPLOY, asks=True)
    begun = operation_step(case(stages=stages, replicas=READY)).stages
    facts = GateFacts(generation=1, unanswered=unanswered)
    late = case(
        stages=begun, replicas=READY, gate=facts, now=NOW + timedelta(minutes=10),
        candidate_asked=asked,
    )  # fmt: skip
    (action,) = operation_step(late).actions
    assert isinstance(action, Fail)
    assert action.failure.code == "GoldenCasesUnanswered"
    assert action.failure.message.startswith(says)


def test_a_node_that_is_lost_while_golden_cases_are_asked_is_replaced_first() -> None:
    stages = stages_new(OperationKind.DEPLOY, asks=True)
    begun = operation_step(case(stages=stages, replicas=READY)).stages
    lost = (replica(ReplicaState.READY, silence=LONG, node_offline=True),)
    step = operation_step(case(stages=begun, replicas=lost, gate=GateFacts(generation=1)))
    assert step.actions == (Stop(("r0",)),)
    assert running(step) == "place"
    golden = next(stage for stage in step.stages if stage.name == StageName.GOLDEN)
    assert (golden.status, golden.started_at) == (StageStatus.PENDING, None)
