"""Pure: what becomes of replicas that have no GPU memory left, serving or loading.

One that serves is started again first: a process that leaks, or whose memory lies in pieces, is
well after that. One for which that was no help moves: its twin elsewhere must be ready before it
goes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from controlplane.deployments.types import Failure
from controlplane.operations.reconcile.values import (
    RANK,
    Action,
    Chosen,
    Move,
    R,
    ReplicaFacts,
    Rest,
    Restart,
    Retire,
)

AGAIN_WITHIN: Final = timedelta(hours=1)  # trouble so soon after a restart is not cured by another
HINTS: Final = (
    "Free memory of the node's GPUs, or add one: it then moves by itself.",
    "Lower count in instance_group, or the largest batch; or quantise the model.",
)


@dataclass(frozen=True, slots=True)
class Mitigation:
    actions: tuple[Action, ...] = ()
    blocker: Failure | None = None
    notes: tuple[str, ...] = ()


def to_move(replicas: tuple[ReplicaFacts, ...]) -> tuple[ReplicaFacts, ...]:
    """Those for which placement should look for another place."""
    replaced = _with_twins(replicas)
    return tuple(
        replica
        for replica in replicas
        if replica.running
        and not replica.lost
        and replica.id not in replaced
        and (_pressed_again(replica) or _without_memory(replica))
    )


def mitigate(replicas: tuple[ReplicaFacts, ...], alternatives: Mapping[str, Chosen]) -> Mitigation:
    """``alternatives`` is placement's answer for each of ``to_move``. One replica at a time."""
    running = [replica for replica in replicas if replica.running and not replica.lost]
    if done := _replaced(running):
        return Mitigation(actions=(Retire(done),))
    for replica in running:
        if _without_memory(replica) and (target := _target(replica, alternatives)) is not None:
            note = f"Replica {replica.ordinal} does not fit on {replica.node}: it goes elsewhere."
            return Mitigation((Move(replica.id, replica.ordinal, target),), notes=(note,))
    replaced = _with_twins(replicas)
    pressed = [
        replica
        for replica in running
        if replica.under_memory_pressure and not replica.resting and replica.id not in replaced
    ]
    if not pressed or any(_on_its_way(replica) for replica in running):
        return Mitigation()
    for replica in pressed:
        if not _pressed_again(replica):
            others = any(r.state == R.READY and r.id != replica.id for r in running)
            act: Action = Rest((replica.id,)) if others else Restart((replica.id,))
            return Mitigation((act,))
    stuck = None
    for replica in pressed:
        if (target := _target(replica, alternatives)) is not None:
            note = (
                f"Replica {replica.ordinal} on {replica.node} ran out of GPU memory again soon "
                "after it was started again: it moves."
            )
            return Mitigation((Move(replica.id, replica.ordinal, target),), notes=(note,))
        stuck = stuck or _stuck(replica, alternatives.get(replica.id, Chosen()))
    return Mitigation(blocker=stuck)


def _with_twins(replicas: tuple[ReplicaFacts, ...]) -> set[str]:
    """Those whose place another one is about to take."""
    return {replica.replaces for replica in replicas if replica.running and not replica.lost}


def _replaced(running: list[ReplicaFacts]) -> tuple[str, ...]:
    """Those whose twins are ready."""
    ready = {replica.replaces for replica in running if replica.state == R.READY}
    return tuple(replica.id for replica in running if replica.id in ready)


def _pressed_again(replica: ReplicaFacts) -> bool:
    return (
        replica.under_memory_pressure
        and replica.relieved is not None
        and replica.relieved < AGAIN_WITHIN
    )


def _without_memory(replica: ReplicaFacts) -> bool:
    return replica.state == R.FAILED and replica.no_gpu_memory


def _on_its_way(replica: ReplicaFacts) -> bool:
    """Whether it comes up, or is about to be started again: the others serve for it meanwhile."""
    return replica.resting or RANK.get(replica.state, RANK[R.READY]) < RANK[R.READY]


def _target(replica: ReplicaFacts, alternatives: Mapping[str, Chosen]) -> str | None:
    assigned = alternatives.get(replica.id, Chosen()).assigned
    return assigned[0][1] if assigned else None


def _stuck(replica: ReplicaFacts, chosen: Chosen) -> Failure:
    said = replica.error.message if replica.error else ""
    return Failure(
        "GpuOutOfMemory",
        f"Replica {replica.ordinal} on {replica.node} ran out of GPU memory again after it was "
        "started again, and nothing else can take it.",
        detail="\n".join(part for part in (said, chosen.why_not) if part),
        hints=HINTS,
        replica_id=replica.id,
    )
