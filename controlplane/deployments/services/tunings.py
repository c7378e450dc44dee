"""Tunings: a guided search for instances, batch size and delay, on replicas that nobody calls.

Each run is a replica of its own with one configuration, which its node starts, and which the load
client then asks. Reports move a run on; the tick decides what is measured next. Everything is in
the row, so that a search goes on whoever is started anew meanwhile.
"""

import dataclasses
import logging
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from controlplane.core.errors import Invalid
from controlplane.deployments.errors import NodeServes, TuningImpossible
from controlplane.deployments.models import Deployment, Tuning
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.runs import plan_of
from controlplane.deployments.selectors.tunings import (
    CHOOSING,
    MEASURING,
    STARTING,
    measured_of,
    run_id,
    setting_now,
    space_of,
    tuning_get,
    tunings_active,
)
from controlplane.deployments.services.capacity import gpus_give, placement_explained
from controlplane.deployments.services.load_settings import (
    LoadSettings,
    may_run_check,
    settings_read,
    text_with,
)
from controlplane.deployments.services.measuring import measuring_check, serving_count
from controlplane.deployments.services.runs import LOOK_AT_NODE, Measurements, runs_forget
from controlplane.deployments.states import TUNINGS, RunCause
from controlplane.deployments.types import Failure, ReplicaState, RunState, failure_data
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_get
from controlplane.nodes.services import node_generation_raise
from controlplane.tuning.search import MOST_RUNS, next_setting, usual_budget
from controlplane.tuning.space import BadSpace, Space, space_check, usual_space
from load_client.plans import longest_s
from wire import codec
from wire.load import RATE, LoadPlan
from wire.messages import ObservedLoad, ObservedReplica

logger = logging.getLogger(__name__)

START_S: Final = 420.0  # for a replica to be ready: as long as others may load, and some
MOST_FAILED: Final = 3  # in a row
MOST_ATTEMPTS: Final = 2  # more, of a run that was disturbed
# What says nothing of the configuration: its run is begun anew.
DISTURBED: Final = ("AgentRestarted", "ReplicaNotReady", "LoadClientEnded", "LoadClientFailed")


class Tunings(Measurements[Tuning]):
    machine = TUNINGS
    verb = id_field = "tuning"
    ended = MappingProxyType(
        {
            RunState.SUCCEEDED: "has been tuned",
            RunState.FAILED: "could not be tuned",
            RunState.CANCELED: "is not tuned any more",
        }
    )

    def get(self, run_id: str) -> Tuning:
        return tuning_get(run_id)

    def end(
        self, row: Tuning, cause: RunCause, now: datetime, *, actor: str = "system", **values: Any
    ) -> bool:
        return super().end(row, cause, now, actor=actor, current=None, **values)


RUNS: Final = Tunings()


def tuning_start(
    *,
    endpoint: str,
    deployment: str,
    plan: LoadPlan,
    case: str = "",
    instances: Sequence[int] = (),
    batch_sizes: Sequence[int] = (),
    delays_us: Sequence[int] = (),
    runs: int | None = None,
    node: str = "",
    while_serving: bool = False,
    actor: str,
    now: datetime,
) -> Tuning:
    """Search a configuration for ``plan.model``. What is not said of the space is usual for it.

    Raises EndpointNotFound, DeploymentNotFound, NodeNotFound, Invalid, TuningImpossible (no node
    can), NodeServes, TuningInProgress, SweepInProgress, CodeNotApproved, SignatureRequired.
    """
    row = deployment_get(endpoint, deployment)
    if plan.mode == RATE and len(plan.levels) != 1:
        raise Invalid(
            f"levels: {list(plan.levels)!r:.80}, expected one rate, at which latency is sought.",
            field="levels",
        )
    chosen, gpus = _place(row, node, now, while_serving=while_serving)
    known = settings_read(row.revision, plan.model)
    space = _space(known, chosen, instances, batch_sizes, delays_us)
    budget = _budget(runs, space)
    other = next(setting for setting in space.settings() if setting != known.now)
    text = text_with(row.revision, plan.model, other, now=known.now)
    may_run_check(row.revision, plan.model, text)
    with transaction.atomic():
        # why first: who begins to measure there waits for the row of the node
        node_generation_raise([chosen.pk])
        measuring_check(chosen)
        made = Tuning.objects.create(
            id=secrets.token_hex(6),
            deployment=row,
            revision=row.revision,
            model=plan.model,
            node=chosen,
            node_name=chosen.name,
            gpus=gpus,
            plan=codec.as_data(plan),
            case=case,
            space={
                "instances": space.instances,
                "batch_sizes": space.batches,
                "delays_us": space.delays_us,
                "now": dataclasses.asdict(known.now),
            },
            budget=budget,
            current={"phase": CHOOSING},
            deadline_at=now + timedelta(seconds=START_S),
            created_by=actor,
        )
        RUNS.record(made, actor, "started", f"{actor} tunes {made}, in {budget} runs at most")
    return tuning_get(made.pk)


def _place(
    row: Deployment, name: str, now: datetime, *, while_serving: bool
) -> tuple[Node, list[str] | None]:
    """A node that could take one more replica of it, if there is one where nobody is served.

    Raises NodeNotFound, TuningImpossible, NodeServes.
    """
    if name:
        node_get(name)
    verdicts = [
        verdict
        for verdict in placement_explained(endpoint=row.endpoint.name, name=row.name, now=now)
        if name in ("", verdict.node)
    ]
    fitting = [node_get(verdict.node) for verdict in verdicts if verdict.reason is None]
    if not fitting:
        why = "\n".join(f"{verdict.node}: {verdict.because}" for verdict in verdicts)
        raise TuningImpossible(why or "No node has joined yet.", field="node" if name else None)
    serving = {node.pk: serving_count(node) for node in fitting}
    best = min(fitting, key=lambda node: bool(serving[node.pk]))
    if (count := serving[best.pk]) and not while_serving:
        raise NodeServes(
            f"On {best.name} {count} replica{'s' if count > 1 else ''} answer clients: they would "
            "share its processors with the tuning.",
            field="while_serving",
        )
    return best, gpus_give(row, [best.pk], now)[0]


def _space(
    known: LoadSettings,
    node: Node,
    instances: Sequence[int],
    batch_sizes: Sequence[int],
    delays_us: Sequence[int],
) -> Space:
    """Raises Invalid."""
    usual = usual_space(processors=int(node.info.get("cpu_count", 0)) or 1, batch=known.now.batch)
    if known.fixed and instances:
        raise Invalid(
            f"instances: {list(instances)!r:.80}, expected none: {known.fixed}.", field="instances"
        )
    space = Space(
        (known.now.instances,) if known.fixed else tuple(instances) or usual.instances,
        tuple(batch_sizes) or usual.batches,
        tuple(delays_us) or usual.delays_us,
    )
    try:
        space_check(space, batch=known.now.batch)
    except BadSpace as error:
        raise Invalid(str(error), field=error.field) from error
    return space


def _budget(runs: int | None, space: Space) -> int:
    """Raises Invalid."""
    if runs is None:
        return usual_budget(space)
    if not 2 <= runs <= MOST_RUNS:
        raise Invalid(f"runs: {runs}, expected 2 to {MOST_RUNS}.", field="runs")
    return runs


def tunings_observe(
    node: Node, replicas: Iterable[ObservedReplica], loads: Iterable[ObservedLoad], now: datetime
) -> None:
    """What a node says of its tuning; ``replicas``: those that are not replicas of ours."""
    seen, measured = {one.replica_id: one for one in replicas}, {one.load_id: one for one in loads}
    if not seen:
        return  # most reports; a query less
    for row in tunings_active(node):
        run = run_id(row)
        if (replica := seen.get(run)) is not None and row.current:
            _observe(row, replica, measured.get(run), now)


def _observe(
    row: Tuning, replica: ObservedReplica, load: ObservedLoad | None, now: datetime
) -> None:
    current = dict(row.current or {})
    for memory in ("memory_bytes", "gpu_memory_bytes"):
        current[memory] = max(getattr(replica, memory), current.get(memory, 0))
    if replica.state == ReplicaState.FAILED:
        problem = codec.as_data(replica.error) if replica.error else None
        _run_ended(row, current, problem or failure_data(Failure("ReplicaFailed", "It failed.")))
    elif current["phase"] == STARTING:
        # why configs: an adopted one is ready before it has been asked
        if replica.state == ReplicaState.READY and replica.configs:
            current |= {"phase": MEASURING, "load_seconds": replica.load_seconds}
            _set(row, current, raised=True)
        elif row.state == RunState.QUEUED:
            _set(row, current)
    elif load is not None and current["phase"] == MEASURING:
        points = [codec.as_data(one) for one in load.points[: len(plan_of(row).levels)]]
        if load.state == "running":
            if points != current["points"] or not current.get("begun"):
                _set(row, {**current, "points": points, "begun": True})
        elif load.state == "finished":
            _run_ended(row, {**current, "points": points}, None)
        elif load.error is not None and load.error.code in DISTURBED:
            _again(row, current, codec.as_data(load.error), now)
        else:
            problem = codec.as_data(load.error) if load.error else None
            error = problem or failure_data(Failure("SweepFailed", "It failed."))
            _run_ended(row, {**current, "points": points}, error)


def _set(row: Tuning, current: dict[str, Any], *, raised: bool = False, **values: Any) -> bool:
    """Move the run on that ``row`` was read at. ``raised``: its node must hear of it."""
    rows = Tuning.objects.filter(pk=row.pk, step=row.step)
    with transaction.atomic():
        if not TUNINGS.write(
            rows, RunCause.OBSERVE, current=current, updated_at=timezone.now(), **values
        ):
            return False
        if raised and row.node_id:
            node_generation_raise([row.node_id])
    return True


def _run_ended(row: Tuning, current: dict[str, Any], error: dict[str, Any] | None) -> None:
    run = {
        "setting": current["setting"],
        "reason": current["reason"],
        "points": current["points"],
        "memory_bytes": current["memory_bytes"],
        "gpu_memory_bytes": current.get("gpu_memory_bytes", 0),
        "load_seconds": current.get("load_seconds"),
        "error": error,
    }
    due = timezone.now() + timedelta(seconds=START_S)  # the next pass of the tick chooses
    values: dict[str, Any] = {"runs": [*row.runs, run], "step": row.step + 1, "deadline_at": due}
    _set(row, {"phase": CHOOSING}, raised=True, **values)


def _again(row: Tuning, current: dict[str, Any], error: dict[str, Any], now: datetime) -> None:
    attempt = current.get("attempt", 0) + 1
    if attempt > MOST_ATTEMPTS:
        _run_ended(row, current, error)
        return
    kept = {name: current[name] for name in ("setting", "reason", "text")}
    fresh = {**kept, "phase": STARTING, "points": [], "memory_bytes": 0, "attempt": attempt}
    _set(row, fresh, raised=True, deadline_at=_deadline(row, now))


def _deadline(row: Tuning, now: datetime) -> datetime:
    return now + timedelta(seconds=START_S + longest_s(plan_of(row)))


def tunings_tick(*, now: datetime) -> None:
    """Say what is measured next; end those that took too long."""
    for row in tunings_active():
        try:
            _advance(row, now)
        except Exception:
            logger.exception("The tuning %s cannot be advanced, the next pass tries again", row.pk)


def tunings_prune(*, now: datetime) -> None:
    """Forget old ones."""
    runs_forget(Tuning, now - RUNS.kept)


def _advance(row: Tuning, now: datetime) -> None:
    current = row.current or {}
    if now >= row.deadline_at:
        how = {
            STARTING: "started the replica",
            MEASURING: "measured it",
            CHOOSING: "been told what is next",
        }
        text = f"The agent of {row.node_name} has not {how[current['phase']]} in time."
        RUNS.expire(row, now, text, LOOK_AT_NODE)
    elif current["phase"] == CHOOSING:
        _choose(row, now)


def _choose(row: Tuning, now: datetime) -> None:
    last = [run["error"] for run in row.runs[-MOST_FAILED:]]
    if last and all(last) and len(row.runs) in (1, *range(MOST_FAILED, MOST_RUNS + 1)):
        RUNS.end(row, RunCause.FAIL, now, error=last[-1])
        return
    following = next_setting(measured_of(row), space_of(row), setting_now(row), row.budget)
    if following.setting is None:
        space = {**row.space, "stopped_by": following.reason}
        RUNS.end(row, RunCause.SUCCEED, now, space=space)
        return
    current = {
        "setting": dataclasses.asdict(following.setting),
        "reason": following.reason,
        "text": text_with(row.revision, row.model, following.setting, now=setting_now(row)),
        "phase": STARTING,
        "points": [],
        "memory_bytes": 0,
    }
    _set(row, current, raised=True, deadline_at=_deadline(row, now))


def tuning_cancel(*, tuning_id: str, actor: str, now: datetime) -> Tuning:
    """What was measured until then is kept. Raises TuningNotFound, RunFinished."""
    return RUNS.cancel(tuning_id, actor=actor, now=now)
