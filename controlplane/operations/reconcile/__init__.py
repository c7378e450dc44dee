"""Pure: from the rows of an operation and of its replicas, as values, to what must be done next.

``operation_step`` advances one operation; ``upkeep`` keeps a settled deployment alive. Neither
reads a clock or a row, and both may be asked again at any time: no step is taken twice.
"""

from controlplane.operations.reconcile.memory_pressure import (
    AGAIN_WITHIN,
    Mitigation,
    mitigate,
    to_move,
)
from controlplane.operations.reconcile.operation import operation_step
from controlplane.operations.reconcile.stages import QUEUE_TIMEOUT, STAGES, TITLES, stages_new
from controlplane.operations.reconcile.upkeep import Upkeep, revive_after, upkeep
from controlplane.operations.reconcile.values import (
    DELETIONS,
    LOST_AFTER,
    UNTAKEN_AFTER,
    Action,
    AskCandidate,
    Cancel,
    Case,
    Chosen,
    Fail,
    Finish,
    GateFacts,
    Move,
    Place,
    Reach,
    Remove,
    ReplicaFacts,
    Rest,
    Restart,
    Retire,
    Route,
    Stage,
    Step,
    Stop,
    missing_ordinals,
)
from controlplane.operations.reconcile.waves import Wave, wave_of, waves

__all__ = [
    "AGAIN_WITHIN",
    "DELETIONS",
    "LOST_AFTER",
    "QUEUE_TIMEOUT",
    "STAGES",
    "TITLES",
    "UNTAKEN_AFTER",
    "Action",
    "AskCandidate",
    "Cancel",
    "Case",
    "Chosen",
    "Fail",
    "Finish",
    "GateFacts",
    "Mitigation",
    "Move",
    "Place",
    "Reach",
    "Remove",
    "ReplicaFacts",
    "Rest",
    "Restart",
    "Retire",
    "Route",
    "Stage",
    "Step",
    "Stop",
    "Upkeep",
    "Wave",
    "missing_ordinals",
    "mitigate",
    "operation_step",
    "revive_after",
    "stages_new",
    "to_move",
    "upkeep",
    "wave_of",
    "waves",
]
