"""Load sweeps: how a replica does under more and more load, asked by the agent of its node.

They travel in the node's desired state, as trials do, and end like them (``runs``).
"""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from controlplane.core.errors import Invalid
from controlplane.deployments.errors import DeploymentServes, NoReadyReplica, SweepInProgress
from controlplane.deployments.models import Deployment, LoadSweep, Replica
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.runs import plan_of
from controlplane.deployments.selectors.sweeps import sweep_get, sweeps_active
from controlplane.deployments.services.measuring import measuring_check
from controlplane.deployments.services.runs import LOOK_AT_NODE, Measurements, runs_forget
from controlplane.deployments.states import SWEEPS, RunCause
from controlplane.deployments.types import RUN_ACTIVE, Desired, ReplicaState, RunState
from controlplane.nodes.models import Node
from controlplane.nodes.services import node_generation_raise
from load_client.plans import BadPlan, check, longest_s
from wire import codec
from wire.load import LoadInput, LoadPlan
from wire.messages import ObservedLoad

BEGIN_S: Final = 60.0  # for its node to hear of it
MOST_BYTES: Final = 1 << 20  # of a case, as base64: it is in what the node asks for all the time
Plan = LoadPlan  # for who makes one of a request


class Sweeps(Measurements[LoadSweep]):
    machine = SWEEPS
    verb, id_field = "load_sweep", "sweep"
    ended = MappingProxyType(
        {
            RunState.SUCCEEDED: "has been measured under load",
            RunState.FAILED: "could not be measured under load",
            RunState.CANCELED: "is not measured under load any more",
        }
    )

    def get(self, run_id: str) -> LoadSweep:
        return sweep_get(run_id)

    def about(self, row: LoadSweep) -> str:
        return str(row.deployment)

    def data(self, row: LoadSweep) -> dict[str, Any]:
        return {**super().data(row), "replica": row.replica}


RUNS: Final = Sweeps()


def plan_made(*, inputs: Iterable[dict[str, Any]] = (), **values: Any) -> LoadPlan:
    """``values``: the fields of LoadPlan. ``inputs``: of a case. Raises Invalid."""
    plan = LoadPlan(inputs=tuple(LoadInput(**one) for one in inputs), **values)
    try:
        check(plan)
    except BadPlan as error:
        raise Invalid(str(error), field=error.field) from error
    if (size := sum(len(one.data or "") for one in plan.inputs)) > MOST_BYTES:
        raise Invalid(
            f"case: {size} bytes of base64, expected at most {MOST_BYTES}.",
            field="case",
            hints=("Let it send random data of that shape: `shapes`, without `case`.",),
        )
    return plan


def sweep_start(
    *,
    endpoint: str,
    deployment: str,
    plan: LoadPlan,
    case: str = "",
    while_serving: bool = False,
    actor: str,
    now: datetime,
) -> LoadSweep:
    """Have a ready replica of it measured. ``while_serving``: though clients use it.

    Raises EndpointNotFound, DeploymentNotFound, DeploymentServes, NoReadyReplica, SweepInProgress,
    TuningInProgress.
    """
    row = deployment_get(endpoint, deployment)
    if (uses := _uses(row)) and not while_serving:
        raise DeploymentServes(
            f"{row} serves clients ({', '.join(uses)}): they would wait behind the sweep.",
            field="while_serving",
        )
    replica = _replica(row)
    try:
        with transaction.atomic():
            # why first: who begins to measure there waits for the row of the node
            node_generation_raise([replica.node_id])
            measuring_check(replica.node)
            sweep = LoadSweep.objects.create(
                id=secrets.token_hex(8),
                deployment=row,
                revision=replica.revision,
                replica=replica.pk,
                node=replica.node,
                node_name=replica.node.name,
                plan=codec.as_data(plan),
                case=case,
                traffic=_percent(row),
                deadline_at=now + timedelta(seconds=BEGIN_S + longest_s(plan)),
                created_by=actor,
            )
            text = f"{actor} measures {row} under load, on {replica.node.name}"
            if uses:
                text += f", while it serves clients ({', '.join(uses)})"
            RUNS.record(sweep, actor, "started", text, warns=bool(uses))
    except IntegrityError as error:
        # why everything: a node does one at a time, whoever asked for it
        if not LoadSweep.everything.filter(node=replica.node, state__in=RUN_ACTIVE).exists():
            raise
        raise SweepInProgress(f"A load sweep is under way on {replica.node.name}.") from error
    return sweep_get(sweep.pk)


def _percent(row: Deployment) -> int:
    return int(row.endpoint.traffic.get(row.name, 0))


def _uses(row: Deployment) -> list[str]:
    """How clients reach it, in words."""
    endpoint = row.endpoint
    found = [f"{percent} % of the traffic"] if (percent := _percent(row)) else []
    if endpoint.mirror_traffic.get(row.name):
        found.append("mirrored traffic")
    if any(rule.get("deployment") == row.name for rule in endpoint.traffic_rules):
        found.append("a traffic rule")
    return found


def _replica(row: Deployment) -> Replica:
    """Of its newest revision; where there is a choice, on a node with no sweep. Raises
    NoReadyReplica."""
    ready = list(
        row.replicas.filter(
            revision=row.revision, desired=Desired.RUNNING, state=ReplicaState.READY
        )
        .select_related("node", "revision")
        .order_by("ordinal", "id")
    )
    if not ready:
        raise NoReadyReplica(f"No replica of {row} is ready with its newest revision.")
    busy = LoadSweep.everything.filter(state__in=RUN_ACTIVE).values_list("node_id", flat=True)
    busy_ids = set(busy)
    return next((one for one in ready if one.node_id not in busy_ids), ready[0])


def sweeps_observe(node: Node, loads: Iterable[ObservedLoad], now: datetime) -> None:
    """What a node says of its sweeps."""
    said = {load.load_id: load for load in loads}
    if not said:
        return  # most reports; a query less
    for row in sweeps_active(node):
        load = said.get(row.pk)
        if load is None:
            continue
        points = [codec.as_data(point) for point in load.points[: len(plan_of(row).levels)]]
        measured: dict[str, Any] = {"points": points, "stopped_by": load.stopped_by}
        if load.state == "finished":
            RUNS.end(row, RunCause.SUCCEED, now, **measured)
        elif load.state == "failed":
            problem = codec.as_data(load.error) if load.error else None
            RUNS.fail(row, now, problem, "SweepFailed", **measured)
        elif row.state == RunState.QUEUED or points != row.points:
            rows = LoadSweep.objects.filter(pk=row.pk)
            SWEEPS.write(rows, RunCause.OBSERVE, updated_at=timezone.now(), **measured)


def sweeps_tick(*, now: datetime) -> None:
    """End those that took too long."""
    for row in sweeps_active():
        if now < row.deadline_at:
            continue
        if row.state == RunState.QUEUED:
            text = f"The agent of {row.node_name} has not begun it in time."
            hint = "Is the node online, and its agent of the control plane's version?"
        else:
            text = f"The agent of {row.node_name} has not ended it in time."
            hint = LOOK_AT_NODE
        RUNS.expire(row, now, text, hint)


def sweeps_prune(*, now: datetime) -> None:
    """Forget old ones."""
    runs_forget(LoadSweep, now - RUNS.kept)


def sweep_cancel(*, sweep_id: str, actor: str, now: datetime) -> LoadSweep:
    """What was measured until then is kept. Raises SweepNotFound, RunFinished."""
    return RUNS.cancel(sweep_id, actor=actor, now=now)
