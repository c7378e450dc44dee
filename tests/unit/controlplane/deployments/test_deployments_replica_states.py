"""Replicas: what a node says of this generation counts, whatever was before; the rest is ours."""

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.core.models import Event
from controlplane.deployments.models import Replica
from controlplane.deployments.services.replicas import (
    replicas_remove,
    replicas_restart,
    replicas_retire,
    replicas_stop,
)
from controlplane.deployments.states import DESIRED, REPLICAS
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.nodes.models import Node
from controlplane.operations.services import node_report
from controlplane.operations.services.tick import replicas_expire
from tests.support.placed_replicas import replica_place
from tests.support.watched_states import Watch, watched
from wire.messages import REPLICA_STATES, NodeInfo, NodeReport, ObservedReplica

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
INFO = NodeInfo(name="a", agent_version="test", boot_id="1", address="10.0.0.1")
WORDS = [*REPLICA_STATES, "a word of a later version"]


@dataclass(frozen=True)
class Says:
    """A report: the state, of this many generations ago; empty: it does not mention the replica."""

    state: str
    late: int = 0


EVENTS = st.one_of(
    st.builds(Says, st.sampled_from(WORDS), st.sampled_from([0, 0, 0, 1])),
    st.just(Says("")),
    st.sampled_from(["silence", "restart", "retire", "stop"]),
)


def node_made() -> Node:
    return Node.objects.create(
        id="a", name="a", credential_hash="x", last_seen_at=timezone.now(), info={}
    )


def report(node: Node, row: Replica, said: Says) -> None:
    """As its agent would: acted on everything, and says this of the replica."""
    ports = {"http_port": 9001, "grpc_port": 9002}
    seen = ObservedReplica(row.pk, row.generation - said.late, said.state, **ports)
    node = Node.objects.get(pk=node.pk)
    message = NodeReport(
        node=INFO,
        observed_generation=node.desired_generation,
        replicas=(seen,) if said.state else (),
    )
    node_report(node=node, report=message, now=timezone.now())


def expected(row: Replica, said: Says) -> str:
    """What the row should say after that report."""
    if said.state in REPLICA_STATES and not said.late:
        return said.state
    if not said.state and row.desired == Desired.STOPPED:
        return ReplicaState.STOPPED
    if not said.state and (row.state, row.desired) == (ReplicaState.UNKNOWN, Desired.RUNNING):
        return ReplicaState.PENDING
    return row.state


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENTS, min_size=1, max_size=10))
def test_reports_are_facts_and_what_is_ours_follows_the_table(events: list[Says | str]) -> None:
    with watched(Watch(Replica, REPLICAS), Watch(Replica, DESIRED)):
        node = node_made()
        row = replica_place(node)
        now = timezone.now()
        for event in events:
            before = Replica.objects.get(pk=row.pk)
            match event:
                case Says():
                    report(node, before, event)
                    after = Replica.objects.get(pk=row.pk)
                    assert after.state == expected(before, event)
                    heard = Node.objects.get(pk=node.pk).last_seen_at
                    assert heard is not None
                    assert heard >= now, "a report that was lost"
                case "silence":
                    replicas_expire(now=now + timedelta(hours=1))
                case "restart":
                    replicas_restart(row.deployment, [row.pk], now)
                case "retire":
                    replicas_retire([row.pk], now)
                case "stop":
                    replicas_stop([row.pk])
        replicas_remove([row.pk])  # legal in every state
        assert not Replica.objects.exists()


@pytest.mark.parametrize("old", ReplicaState)
def test_no_report_is_lost_because_of_a_table(old: ReplicaState) -> None:
    """Ready straight from pending, or even from stopped: the reports between were missed."""
    node = node_made()
    row = replica_place(node)
    for new in REPLICA_STATES:
        Event.objects.all().delete()
        Replica.objects.update(state=old, observed={})
        report(node, row, Says(new))
        row.refresh_from_db()
        assert row.state == new
        assert Event.objects.filter(verb=f"replica.{new}").exists() == (old != new)


def test_what_was_restarted_is_not_ready_by_a_late_report() -> None:
    node = node_made()
    row = replica_place(node)
    report(node, row, Says("ready"))
    replicas_restart(row.deployment, [row.pk], timezone.now())
    row.refresh_from_db()
    report(node, row, Says("ready", late=1))
    row.refresh_from_db()
    assert (row.state, row.generation) == (ReplicaState.PENDING, 2)
