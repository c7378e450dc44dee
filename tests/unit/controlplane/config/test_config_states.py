"""The tables of states: each is whole, what has ended stays so, and the docs say the same."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.alerts.states import ALERTS
from controlplane.config.state_tables import MACHINES, written
from controlplane.core.states import IllegalTransition, Machine
from controlplane.deployments.states import (
    DEPLOYMENTS,
    DESIRED,
    ENDPOINTS,
    REPLICAS,
    REPORTED,
    SWEEPS,
    TRIALS,
    TUNINGS,
    DeploymentCause,
    EndpointCause,
    ReplicaCause,
    RunCause,
)
from controlplane.deployments.types import RUN_ACTIVE, ReplicaState
from controlplane.nodes.states import DUTIES, NODES, DutyCause, NodeCause
from controlplane.operations.states import OPERATIONS, ROLLOUTS, OperationCause, RolloutCause
from controlplane.operations.types import ACTIVE, ROLLING
from controlplane.registry.selectors import ACTIVE as INGESTING
from controlplane.registry.states import STEPS, UPLOADS, UploadCause
from wire.messages import REPLICA_STATES

DOCS = Path(__file__).parents[4] / "docs"
AnyMachine = Machine[Any, Any]
# What no other state follows; the row of some goes nevertheless.
ENDS: dict[AnyMachine, set[str]] = {
    UPLOADS: {"ready", "failed"},
    STEPS: set(),
    ENDPOINTS: {"Deleting"},
    DEPLOYMENTS: {"Deleting"},
    OPERATIONS: {"Succeeded", "Failed", "Canceled"},
    ROLLOUTS: {"Succeeded", "Withdrawn", "Aborted", "Superseded"},
    TRIALS: {"Succeeded", "Failed", "Canceled"},
    SWEEPS: {"Succeeded", "Failed", "Canceled"},
    TUNINGS: {"Succeeded", "Failed", "Canceled"},
    REPLICAS: set(),
    DESIRED: {"stopped"},
    NODES: set(),
    DUTIES: set(),
    ALERTS: {"resolved"},
}
machines = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)


def goes(machine: AnyMachine, state: Any) -> bool:
    """Whether a row in this state may go."""
    return any(state in move.old and not move.new for move in machine.moves)


@machines
def test_every_state_is_reached_from_the_first(machine: AnyMachine) -> None:
    reached = set(machine.starts)
    while new := {s for old in reached for s in machine.follows(old)} - reached:
        reached |= new
    assert reached == set(machine.states)


@machines
def test_only_ends_have_no_way_out(machine: AnyMachine) -> None:
    stuck = {state.value for state in machine.states if not machine.follows(state)}
    assert stuck == ENDS[machine]
    for state in machine.states:  # and whatever goes on comes to an end, or can go
        after = {state}
        while new := {s for old in after for s in machine.follows(old)} - after:
            after |= new
        assert any(goes(machine, s) or s.value in ENDS[machine] for s in after)


@machines
def test_every_cause_has_its_line_and_every_line_says_when(machine: AnyMachine) -> None:
    kind: type[StrEnum] = type(machine.moves[0].cause)
    assert {move.cause for move in machine.moves} == set(kind)
    assert all(move.old and move.when for move in machine.moves)


@machines
@given(data=st.data())
def test_a_walk_keeps_to_the_table(machine: AnyMachine, data: st.DataObject) -> None:
    state = data.draw(st.sampled_from(sorted(machine.starts)))
    causes = st.sampled_from(sorted({move.cause for move in machine.moves if move.new}))
    wishes = st.tuples(causes, st.sampled_from(list(machine.states)))
    ended = False
    for cause, wanted in data.draw(st.lists(wishes, max_size=20)):
        legal = any(m.cause == cause and state in m.old and wanted in m.new for m in machine.moves)
        assert machine.allows(state, cause, wanted) == legal
        if legal:
            assert not ended or wanted == state, "an end that is left again"
            state = machine.check(state, cause, wanted)
        else:
            with pytest.raises(IllegalTransition, match=f"{state.value} cannot become"):
                machine.check(state, cause, wanted)
        ended = ended or not machine.follows(state)


def test_deleting_is_legal_in_every_state() -> None:
    assert UPLOADS.sources(UploadCause.DELETE) == set(UPLOADS.states)
    assert ENDPOINTS.sources(EndpointCause.DELETE) == set(ENDPOINTS.states)
    assert DEPLOYMENTS.sources(DeploymentCause.DELETE) == set(DEPLOYMENTS.states)
    assert REPLICAS.sources(ReplicaCause.FORGET) == set(REPLICAS.states)
    assert NODES.sources(NodeCause.REMOVE) == set(NODES.states)
    assert DUTIES.sources(DutyCause.REMOVE) == set(DUTIES.states)


def test_cancelling_is_legal_until_the_end() -> None:
    assert ROLLOUTS.sources(RolloutCause.ABORT) == set(ROLLING)
    assert OPERATIONS.sources(OperationCause.CANCEL) == set(ACTIVE)
    assert OPERATIONS.sources(OperationCause.SUPERSEDE) == set(ACTIVE)
    assert TRIALS.sources(RunCause.CANCEL) == set(RUN_ACTIVE)
    assert UPLOADS.sources(UploadCause.REFUSE) == set(INGESTING)


def test_a_node_may_report_any_state_after_any_other() -> None:
    """Reports get lost. What is refused would be a fact that we do not want to hear."""
    assert {state.value for state in REPORTED} == set(REPLICA_STATES)
    for state in REPORTED:
        assert REPLICAS.sources(ReplicaCause.REPORT, state) == set(ReplicaState)
    assert not REPLICAS.sources(ReplicaCause.REPORT, ReplicaState.UNKNOWN)
    for cause in (ReplicaCause.SILENCE, ReplicaCause.BACK, ReplicaCause.RESTART):
        assert REPLICAS.target(cause) in (ReplicaState.UNKNOWN, ReplicaState.PENDING)


def test_only_joining_and_reporting_bring_a_node_back() -> None:
    online = NODES.states("online")
    back = {move.cause for move in NODES.moves if online in move.new}
    assert back == {NodeCause.JOIN, NodeCause.REPORT}


def test_where_a_cause_leads_must_be_one_state_to_be_left_out() -> None:
    with pytest.raises(ValueError, match="silence leads to 2 states"):
        NODES.target(NodeCause.SILENCE)
    with pytest.raises(IllegalTransition, match="offline cannot become suspect by silence"):
        NODES.check(NODES.states("offline"), NodeCause.SILENCE, NODES.states("suspect"))


def test_the_docs_have_these_tables() -> None:
    page = DOCS / "states.md"
    assert page.read_text() == written(page), "run `make state-docs`"


@pytest.mark.parametrize(
    ("word", "machine"),
    [
        ("deployment", DEPLOYMENTS),
        ("operation", OPERATIONS),
        ("replica", REPLICAS),
        ("node", NODES),
    ],
)
def test_the_overview_of_a_deployment_s_life_names_every_state(
    word: str, machine: AnyMachine
) -> None:
    text = (DOCS / "deployments.md").read_text().split("```")[1]
    lines = text.split(f"\n{word} ")[1].splitlines()
    own = lines[0] + "".join(line for line in lines[1:3] if line.startswith(" "))
    assert [state.value for state in machine.states if state.value not in own] == []
