"""What is due without anybody asking: silence noticed, operations moved on, deployments kept."""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from controlplane.core import events
from controlplane.core.jobs import enqueue_on_commit
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Replica
from controlplane.deployments.services.locks import endpoints_lock
from controlplane.deployments.services.replicas import (
    replica_move,
    replicas_place,
    replicas_remove,
    replicas_rest,
    replicas_restart,
    replicas_retire,
    replicas_stop,
    rests_end,
    retirements_end,
)
from controlplane.deployments.services.sweeps import sweeps_tick
from controlplane.deployments.services.trials import trials_tick
from controlplane.deployments.services.tunings import tunings_tick
from controlplane.deployments.states import REPLICAS, ReplicaCause
from controlplane.deployments.types import DeploymentState, failure_data
from controlplane.nodes.selectors import node_state, nodes_silent
from controlplane.nodes.services import nodes_expire
from controlplane.operations.reconcile import (
    Action,
    Move,
    Place,
    Remove,
    Rest,
    Restart,
    Retire,
    Stop,
    upkeep,
)
from controlplane.operations.selectors import (
    operations_active,
    rollouts_active,
    settled_to_keep,
)
from controlplane.operations.services import completion, facts
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.draining import drains_advance

logger = logging.getLogger(__name__)

LOOKS_EXPIRE_S = 5  # the next pass sends them again
SWEEP_AFTER = timedelta(minutes=1)  # past its deadline; only what cannot be advanced gets this old


def looks_send() -> None:
    """Send the jobs that look at rollouts and at load, if there are any to look at.

    Samples of such deployments send them, too; these are for schedules, and for silence.
    """
    if rollouts_active().exists():
        enqueue_on_commit("operations.rollouts", expires_s=LOOKS_EXPIRE_S)
        enqueue_on_commit("golden.rollouts", queue="ingest", expires_s=LOOKS_EXPIRE_S)
    if Deployment.objects.filter(autoscale__isnull=False).exists():
        enqueue_on_commit("operations.autoscale", expires_s=LOOKS_EXPIRE_S)


def operations_tick(*, now: datetime) -> None:
    """Everything that is due: silence noticed, operations advanced, deployments kept alive.

    One that fails does not keep the others from moving.
    """
    try:
        nodes_expire(now=now)
    except Exception:
        logger.exception("States of silent nodes were not written, the next pass tries again")
    replicas_expire(now=now)
    retirements_end(now)
    rests_end(now)
    for operation in operations_active():
        try:
            operation_advance(operation, now=now)
        except Exception:
            logger.exception("Operation %s (%s) cannot be advanced", operation.pk, operation)
            if now > operation.deadline_at + SWEEP_AFTER:
                completion.operation_abandon(operation, now)
    for deployment_id, name in settled_to_keep(now):
        try:
            deployment_upkeep(deployment_id=deployment_id, now=now)
        except Exception:
            logger.exception("Upkeep of %s failed, the next pass tries again", name)
    drains_advance(now=now)
    trials_tick(now=now)
    sweeps_tick(now=now)
    tunings_tick(now=now)


@transaction.atomic
def replicas_expire(*, now: datetime) -> None:
    """Replicas of silent nodes become unknown; gateways keep the routes and watch their health."""
    heard = Replica.objects.filter(state__in=REPLICAS.sources(ReplicaCause.SILENCE))
    found = heard.filter(node__in=nodes_silent(now)).select_related("node", "deployment__endpoint")
    rows = [row for row in found if node_state(row.node, now) == "offline"]
    endpoints_lock(row.deployment.endpoint_id for row in rows)
    for row in rows:
        same = Replica.objects.filter(state=row.state)
        if REPLICAS.move(row, ReplicaCause.SILENCE, rows=same, state_since=now):
            events.record(
                actor="system",
                verb="replica.unknown",
                subject=f"endpoint/{row.deployment.endpoint.name}",
                message=f"Replica {row.ordinal} of {row.deployment.name}: "
                f"its node {row.node.name} is silent",
                severity=Event.Severity.WARNING,
                data={"deployment": row.deployment.name, "replica": row.id},
            )


def deployment_upkeep(*, deployment_id: int, now: datetime) -> None:
    """Restart, replace and forget replicas of a deployment that no operation is working on."""
    deployment = (
        Deployment.objects.select_related(
            "endpoint", "revision__model_version", "revision__instance_type"
        )
        .filter(pk=deployment_id, provisioning_state=DeploymentState.SUCCEEDED)
        .first()
    )
    if deployment is None:
        return
    rows = list(deployment.replicas.select_related("node").order_by("ordinal", "id"))
    replicas = facts.replica_facts(rows, now=now)
    chosen = facts.choose(deployment, replicas, now)
    needed = upkeep(
        replicas,
        instance_count=deployment.instance_count,
        chosen=chosen,
        alternatives=facts.alternatives(deployment, rows, replicas, now),
    )
    error = failure_data(needed.blocker) if needed.blocker else None
    if not needed.actions and error == deployment.error:
        return
    with transaction.atomic():
        endpoints_lock([deployment.endpoint_id])
        claimed = Deployment.objects.filter(
            pk=deployment.pk,
            generation=deployment.generation,
            provisioning_state=DeploymentState.SUCCEEDED,
        ).update(generation=F("generation") + 1, error=error)
        if claimed != 1:
            return
        for action in needed.actions:
            _keep(deployment, action, now)
        notes = list(needed.notes)
        if needed.blocker and needed.blocker.message != (deployment.error or {}).get("message"):
            notes.append(needed.blocker.message)  # details, such as ages, change all the time
        for note in notes:
            events.record(
                actor="system",
                verb="deployment.healing",
                subject=f"endpoint/{deployment.endpoint.name}",
                message=f"{deployment.name}: {note}",
                severity=Event.Severity.WARNING,
                data={"deployment": deployment.name},
            )


def _keep(deployment: Deployment, action: Action, now: datetime) -> None:
    match action:
        case Place(assigned):
            replicas_place(deployment, assigned, now)
        case Stop(replica_ids):
            replicas_stop(replica_ids)
        case Restart(replica_ids):
            replicas_restart(deployment, replica_ids, now)
        case Rest(replica_ids):
            replicas_rest(replica_ids, now)
        case Retire(replica_ids):
            replicas_retire(replica_ids, now)
        case Move(replica_id, _, node_id):
            replica_move(deployment, replica_id, node_id, now)
        case Remove(replica_ids):
            replicas_remove(replica_ids)
        case _:
            raise AssertionError(f"{action} belongs to an operation, not to upkeep")
