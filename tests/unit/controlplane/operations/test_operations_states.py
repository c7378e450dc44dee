"""Endpoints, deployments and operations keep to their tables, whatever is asked in which order."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.core.errors import DomainError
from controlplane.core.states import IllegalTransition
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.services import Spec
from controlplane.deployments.serving import (
    DEPLOYMENT_RULES,
    ENDPOINT_RULES,
    DeploymentFacts,
    EndpointFacts,
    serving,
)
from controlplane.deployments.states import DEPLOYMENTS, DESIRED, ENDPOINTS, REPLICAS
from controlplane.deployments.types import DeploymentState, EndpointState, ServingState
from controlplane.nodes.services import nodes_expire
from controlplane.operations import services
from controlplane.operations.models import Operation
from controlplane.operations.services import completion
from controlplane.operations.services.tick import replicas_expire
from controlplane.operations.states import OPERATIONS
from controlplane.operations.types import ACTIVE, OperationState
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from tests.support.watched_states import Watch, watched
from wire.messages import REPLICA_STATES

databases = pytest.mark.django_db(databases=["default", "metrics"])
FOREVER = timedelta(minutes=40)
EVENTS = st.one_of(
    st.sampled_from(
        ["deploy", "deploy other", "scale", "roll", "rollback", "restart", "pause", "resume",
         "delete deployment", "delete endpoint", "cancel", "retry", "supersede", "confirm", "up",
         "silence", "tick", "late tick"]
    ),
    st.tuples(st.just("say"), st.sampled_from(REPLICA_STATES)),
)  # fmt: skip


def spec(version: str = "1", traffic: int = 100) -> Spec:
    return Spec(model="digits", version=version, traffic=traffic)


def newest(*states: OperationState) -> str:
    """The id of the latest operation in one of these states; made up if there is none."""
    found = Operation.objects.filter(state__in=states).order_by("-created_at").first()
    return found.pk if found else "none"


def happen(event: str | tuple[str, str], node: SimulatedNode) -> None:
    now = timezone.now()
    blue: dict[str, Any] = {"endpoint": "digits", "name": "blue", "actor": "dora", "now": now}
    ended = (OperationState.FAILED, OperationState.CANCELED)
    again = partial(services.operation_retry, actor="dora", now=now)
    asked: dict[str, Callable[[], Any]] = {
        "deploy": lambda: services.deploy(
            spec=spec(), endpoint="digits", deployment="blue", actor="dora", now=now
        ),
        "deploy other": lambda: services.deploy(
            spec=spec("2"), endpoint="digits", deployment="", actor="dora", now=now
        ),
        "scale": lambda: services.deployment_scale(instance_count=2, **blue),
        "roll": lambda: services.deployment_roll(version="2", **blue),
        "rollback": lambda: services.deployment_rollback(revision=None, **blue),
        "restart": lambda: services.deployment_restart(**blue),
        "pause": lambda: services.deployment_pause(force=True, **blue),
        "resume": lambda: services.deployment_resume(**blue),
        "delete deployment": lambda: services.deployment_delete(force=True, **blue),
        "delete endpoint": lambda: services.endpoint_delete(name="digits", actor="dora", now=now),
        "cancel": lambda: services.operation_cancel(
            operation_id=newest(*ACTIVE), actor="dora", now=now
        ),
        "retry": lambda: again(operation_id=newest(*ended)),
        "supersede": lambda: again(operation_id=newest(*ended), supersede=True),
        "confirm": gateway_confirms,
        "up": node.bring_up,
        "silence": lambda: [
            nodes_expire(now=now + FOREVER), replicas_expire(now=now + FOREVER)
        ],
        "tick": lambda: services.operations_tick(now=now),
        "late tick": lambda: services.operations_tick(now=now + FOREVER),
    }  # fmt: skip
    if isinstance(event, tuple):
        node.desired()
        node.say(event[1])
    else:
        asked[event]()


@databases
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENTS, min_size=2, max_size=9))
def test_everything_follows_its_table_and_can_be_deleted(
    events: list[str | tuple[str, str]],
) -> None:
    watches = [
        Watch(Endpoint, ENDPOINTS), Watch(Deployment, DEPLOYMENTS), Watch(Operation, OPERATIONS),
        Watch(Replica, REPLICAS), Watch(Replica, DESIRED),
    ]  # fmt: skip
    with watched(*watches):
        model_register()
        model_register(content=b"others")
        node = SimulatedNode()
        for event in ["deploy", *events]:
            try:
                happen(event, node)
            except IllegalTransition:
                raise  # a service that did not foresee it
            except DomainError:
                continue
        if Endpoint.objects.exists():  # legal whatever came before, and it comes to its end
            happen("delete endpoint", node)
            gateway_confirms()
            happen("late tick", node)
        assert not Endpoint.objects.exists()
        assert not Operation.objects.filter(state__in=ACTIVE).exists()


def deployed(node: SimulatedNode, version: str = "1") -> None:
    services.deploy(
        spec=spec(version), endpoint="digits", deployment="blue", actor="dora", now=timezone.now()
    )
    node.bring_up()
    gateway_confirms()


@databases
@pytest.mark.parametrize("supersede", [False, True])
def test_nothing_is_retried_while_its_endpoint_is_deleted(supersede: bool) -> None:
    """Retrying took the deployment out of Deleting, and the endpoint with it."""
    model_register()
    node = SimulatedNode()
    deployed(node)
    now = timezone.now()
    failed = services.deployment_scale(
        endpoint="digits", name="blue", instance_count=2, actor="dora", now=now
    )
    services.operation_cancel(operation_id=failed.pk, actor="dora", now=now)
    services.endpoint_delete(name="digits", actor="dora", now=now)
    assert Endpoint.objects.get().provisioning_state == EndpointState.DELETING
    with pytest.raises(DomainError, match="digits is being deleted") as refused:
        services.operation_retry(operation_id=failed.pk, actor="dora", now=now, supersede=supersede)
    assert refused.value.code == "OperationInProgress"
    assert Endpoint.objects.get().provisioning_state == EndpointState.DELETING
    assert Deployment.objects.get().provisioning_state == DeploymentState.DELETING


@databases
def test_a_deployment_whose_operation_was_given_up_is_failed_and_can_be_retried() -> None:
    """It stayed Creating for good, with nothing that worked on it."""
    model_register()
    SimulatedNode()
    now = timezone.now()
    operation = services.deploy(
        spec=spec(), endpoint="digits", deployment="blue", actor="dora", now=now
    )
    completion.operation_abandon(operation, now)
    row = Deployment.objects.get()
    assert row.provisioning_state == DeploymentState.FAILED
    assert row.error is not None
    assert row.error["code"] == "InternalError"
    assert Endpoint.objects.get().provisioning_state == EndpointState.SUCCEEDED
    again = services.operation_retry(operation_id=operation.pk, actor="dora", now=now)
    assert again.state == OperationState.RUNNING
    assert Deployment.objects.get().provisioning_state == DeploymentState.CREATING


@given(
    provisioning=st.sampled_from(DeploymentState),
    wanted=st.integers(0, 3),
    running=st.integers(0, 3),
    ready=st.integers(0, 3),
)
def test_what_serves_goes_by_what_is_ready(
    provisioning: DeploymentState, wanted: int, running: int, ready: int
) -> None:
    ready = min(ready, running)
    state = serving(DEPLOYMENT_RULES, DeploymentFacts(provisioning, wanted, running, ready))
    assert (state in (ServingState.HEALTHY, ServingState.DEGRADED)) == (ready > 0)
    assert (state == ServingState.HEALTHY) == (ready > 0 and ready >= wanted)
    if state == ServingState.STOPPED:
        assert running == 0
    if state == ServingState.DEPLOYING:
        assert provisioning in (DeploymentState.CREATING, DeploymentState.UPDATING)


answers = st.lists(st.sampled_from(ServingState), max_size=3)


@given(answering=answers, others=answers)
def test_an_endpoint_answers_as_well_as_those_with_traffic(
    answering: list[ServingState], others: list[ServingState]
) -> None:
    whole = {ServingState.HEALTHY, ServingState.IDLE}
    well = {*whole, ServingState.DEGRADED}
    state = serving(ENDPOINT_RULES, EndpointFacts(answering, [*answering, *others]))
    assert (state in well) == bool(well & set(answering))
    assert (state in whole) == (bool(answering) and set(answering) <= whole)
    assert (state == ServingState.IDLE) == (set(answering) == {ServingState.IDLE})
    assert (state in (ServingState.STOPPED, ServingState.DEPLOYING)) == (not answering)


@pytest.mark.parametrize("rules", [DEPLOYMENT_RULES, ENDPOINT_RULES])
def test_every_serving_state_has_a_rule(rules: tuple[Any, ...]) -> None:
    assert {rule.state for rule in rules} == set(ServingState)
