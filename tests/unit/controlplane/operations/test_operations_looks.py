"""Looks at rollouts and at load are jobs only where there is something to look at."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from controlplane.core import jobs
from controlplane.core.breaker import Breaker
from controlplane.deployments.models import Endpoint
from controlplane.nodes.models import Node
from controlplane.nodes.states import NodeState
from controlplane.operations.models import Rollout
from controlplane.operations.services import looks_send, operations_tick
from controlplane.operations.services import tick as ticking
from controlplane.operations.types import RolloutState
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of jobs, in order."""
    found: list[str] = []
    monkeypatch.setattr(jobs, "broker", Breaker(rest_s=5.0))  # another test's may be resting
    monkeypatch.setattr("celery.Celery.send_task", lambda _, name, **__: found.append(name))
    return found


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return Endpoint.objects.create(name="digits")


def rollout_add(endpoint: Endpoint, state: RolloutState) -> None:
    Rollout.objects.create(
        id="r", endpoint=endpoint, candidate="green", revision=1, state=state, plan={},
        previous_traffic={}, stages=[], memory={}, samples_until=0, created_by="dora",
    )  # fmt: skip


def test_nothing_is_sent_where_there_is_nothing(endpoint: Endpoint, sent: list[str]) -> None:
    deployment_add(endpoint, model_register())
    rollout_add(endpoint, RolloutState.SUCCEEDED)
    looks_send()
    assert sent == []


def test_a_rollout_is_looked_at(endpoint: Endpoint, sent: list[str]) -> None:
    rollout_add(endpoint, RolloutState.RUNNING)
    looks_send()
    assert sent == ["operations.rollouts", "golden.rollouts"]


def test_a_deployment_with_a_policy_is_looked_at(endpoint: Endpoint, sent: list[str]) -> None:
    deployment_add(endpoint, model_register(), autoscale={"min": 1, "max": 2})
    looks_send()
    assert sent == ["operations.autoscale"]


def test_the_tick_writes_the_states_of_silent_nodes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node = SimulatedNode()
    row = node.row()
    Node.objects.filter(pk=row.pk).update(last_seen_at=timezone.now() - timedelta(hours=1))

    def fails(**_: Any) -> int:
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr(ticking, "nodes_expire", fails)
        operations_tick(now=timezone.now())  # the rest is done all the same
    assert "the next pass tries again" in caplog.text
    operations_tick(now=timezone.now())
    row.refresh_from_db()
    assert row.state == NodeState.OFFLINE
