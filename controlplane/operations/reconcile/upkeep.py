"""Pure: keeping a settled deployment alive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from controlplane.deployments.types import Failure
from controlplane.operations.reconcile.memory_pressure import mitigate
from controlplane.operations.reconcile.values import (
    Action,
    Chosen,
    Move,
    Place,
    R,
    Remove,
    ReplicaFacts,
    Restart,
    Stop,
)

REVIVE_FIRST: Final = timedelta(seconds=15)
REVIVE_LONGEST: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a settled deployment needs: actions, and what hinders them (empty when nothing does)."""

    actions: tuple[Action, ...] = ()
    blocker: Failure | None = None
    notes: tuple[str, ...] = field(default=())


def upkeep(
    replicas: tuple[ReplicaFacts, ...],
    *,
    instance_count: int,
    chosen: Chosen,
    alternatives: Mapping[str, Chosen] | None = None,
) -> Upkeep:
    """Replace what is lost when some node can take it, restart what failed, forget what is gone.

    ``chosen`` is placement's answer for ``missing_ordinals``, ``alternatives`` for each of
    ``to_move``.
    """
    actions: list[Action] = []
    notes: list[str] = []
    gone = tuple(r.id for r in replicas if not r.running and (r.state == R.STOPPED or r.lost))
    if gone:
        actions.append(Remove(gone))
    mitigation = mitigate(replicas, alternatives or {})
    moving = {action.replica_id for action in mitigation.actions if isinstance(action, Move)}
    failed = tuple(
        r.id
        for r in replicas
        if r.running
        and r.id not in moving
        and r.state == R.FAILED
        and not r.lost
        and r.state_age >= revive_after(r.attempts)
    )
    if failed:
        actions.append(Restart(failed))
    actions += mitigation.actions
    notes += mitigation.notes
    placeable = {ordinal for ordinal, _ in chosen.assigned}
    replaced = [r for r in replicas if r.running and r.lost and r.ordinal in placeable]
    if replaced:
        actions.append(Stop(tuple(r.id for r in replaced)))
        notes += [f"Node {r.node} stayed silent: replica {r.ordinal} moves." for r in replaced]
    if chosen.assigned:
        actions.append(Place(chosen.assigned))
    blocker = mitigation.blocker
    if chosen.unplaced:
        blocker = Failure(
            "OutOfCapacity",
            f"{len(chosen.unplaced)} of {instance_count} replica(s) have no node.",
            detail=chosen.why_not,
            hints=("Bring the node back or add another one.",),
        )
    return Upkeep(tuple(actions), blocker, tuple(notes))


def revive_after(attempts: int) -> timedelta:
    """How long a failed replica of a serving deployment rests before it is started anew."""
    factor: int = 2 ** min(attempts, 10)
    return min(REVIVE_FIRST * factor, REVIVE_LONGEST)
