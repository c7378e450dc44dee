"""Pure: advancing one operation through its stages until it ends."""

from dataclasses import replace
from datetime import datetime

from controlplane.deployments.types import Failure, ReplicaState
from controlplane.operations.reconcile.stages import TITLES, Verdict, examine, with_install
from controlplane.operations.reconcile.values import (
    DELETIONS,
    Cancel,
    Case,
    Fail,
    Finish,
    Stage,
    Step,
    Stop,
)
from controlplane.operations.reconcile.waves import wave_of
from controlplane.operations.types import StageName, StageStatus


def operation_step(case: Case) -> Step:
    """Stages as they are now, and what to do. Ends with Finish, Fail or Cancel, sooner or later."""
    deletion = case.kind in DELETIONS
    if not deletion:
        if case.cancel_requested:
            return Step(_closed(case, StageStatus.CANCELED, "Cancelled."), (Cancel(),))
        failure = _replica_failure(case) or _overdue(case)
        if failure is not None:
            return Step(_closed(case, StageStatus.FAILED, failure.message), (Fail(failure),))
        if (moved := _lost(case)) is not None:
            return moved
    stages = list(with_install(case))
    for index, stage in enumerate(stages):
        if stage.status == StageStatus.SUCCEEDED:
            continue
        if stage.started_at is None:
            stage = replace(stage, status=StageStatus.RUNNING, started_at=case.now)
        verdict = examine(case, stage)
        if deletion and case.now >= case.deadline_at and not verdict.actions:
            verdict = Verdict(done=True, detail=verdict.detail)
        if verdict.failure is not None:
            stages[index] = _ended(stage, StageStatus.FAILED, case.now, verdict.failure.message)
            return Step(tuple(stages), (Fail(verdict.failure),))
        if not verdict.done or verdict.actions:
            stages[index] = replace(stage, detail=verdict.detail, progress=verdict.progress)
            return Step(tuple(stages), verdict.actions)
        if stage.name == StageName.WARM and (onward := _next_wave(case)) is not None:
            return onward
        stages[index] = _ended(stage, StageStatus.SUCCEEDED, case.now, verdict.detail)
    return Step(tuple(stages), (Finish(),))


def _ended(stage: Stage, status: StageStatus, now: datetime, detail: str) -> Stage:
    progress = 1.0 if status == StageStatus.SUCCEEDED else stage.progress
    return replace(stage, status=status, ended_at=now, detail=detail, progress=progress)


def _closed(case: Case, status: StageStatus, detail: str) -> tuple[Stage, ...]:
    """The stages of an operation that ends here: the current one carries ``status``."""
    stages = list(case.stages)
    for index, stage in enumerate(stages):
        if stage.status != StageStatus.SUCCEEDED:
            stages[index] = _ended(stage, status, case.now, detail)
            break
    return tuple(stages)


def _replica_failure(case: Case) -> Failure | None:
    for replica in case.own():
        if replica.state == ReplicaState.FAILED:
            return replica.error or Failure(
                "ReplicaFailed",
                f"Replica {replica.ordinal} on {replica.node} failed without a reason.",
                replica_id=replica.id,
            )
    return None


def _overdue(case: Case) -> Failure | None:
    if case.now < case.deadline_at:
        return None
    current = next((s for s in case.stages if s.status != StageStatus.SUCCEEDED), None)
    if current is not None and current.name == StageName.ROLLOUT:
        return None  # it serves: a rollout that does not begin is no reason to stop it
    title = TITLES[current.name] if current else "the end"
    silent = sorted({replica.node for replica in case.own() if replica.node_offline})
    waiting = [replica for replica in case.own() if replica.state != ReplicaState.READY]
    lines = [f"Last seen: {current.detail}" if current and current.detail else ""]
    lines += [f"Replica {r.ordinal} on {r.node} is {r.state.value}." for r in waiting]
    lines += [f"Node {name} is silent." for name in silent]
    return Failure(
        "DeadlineExceeded",
        f"Not finished in time; it got as far as “{title}”.",
        detail="\n".join(line for line in lines if line),
        hints=(_overdue_hint(current),),
        replica_id=waiting[0].id if waiting else "",
    )


def _overdue_hint(stage: Stage | None) -> str:
    if stage is not None and stage.name == StageName.ROUTE:
        return "Check that the gateway and its agent are running, then retry."
    return "Check the nodes and the log of the deployment, then retry."


def _lost(case: Case) -> Step | None:
    """Replicas whose node stayed silent are given up, and the operation goes back to placing."""
    lost = tuple(replica.id for replica in case.own() if replica.lost)
    if not lost:
        return None
    names = sorted({replica.node for replica in case.own() if replica.lost})
    return Step(_again(case, f"{', '.join(names)} fell silent; choosing again."), (Stop(lost),))


def _next_wave(case: Case) -> Step | None:
    """All that was placed is ready; what waits is placed next."""
    wave = wave_of(case)
    if wave.of == 1 or not wave.left:
        return None
    return Step(_again(case, f"{wave.text} is next"))


def _again(case: Case, detail: str) -> tuple[Stage, ...]:
    """The stages of an operation that goes back to placing."""
    start = next((i for i, stage in enumerate(case.stages) if stage.name == StageName.PLACE), 0)
    fresh = [Stage(stage.name) for stage in case.stages[start:]]
    fresh[0] = Stage(StageName.PLACE, StageStatus.RUNNING, started_at=case.now, detail=detail)
    return (*case.stages[:start], *fresh)
