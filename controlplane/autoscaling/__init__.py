"""Pure: how many replicas a deployment shall have, from what its replicas carry.

Nothing here reads a row or a clock; ``operations.services.autoscaling`` does, and carries it out.
"""

from controlplane.autoscaling.decision import (
    CHANGED,
    LOOKED_AT,
    MAY_TAKE_BACK,
    PAUSED,
    Decision,
    decide,
)
from controlplane.autoscaling.loads import STALE_S, Load
from controlplane.autoscaling.policy import (
    LEAST_INTERVAL_S,
    SOON_S,
    Idle,
    Policy,
    Schedule,
    Side,
    Targets,
    policy_from_json,
    policy_to_json,
)
from controlplane.autoscaling.replay import Replay, replayed
from controlplane.autoscaling.schedules import Bounds, bounds_at
from controlplane.autoscaling.state import State, state_from_json, state_to_json

__all__ = [
    "CHANGED",
    "LEAST_INTERVAL_S",
    "LOOKED_AT",
    "MAY_TAKE_BACK",
    "PAUSED",
    "SOON_S",
    "STALE_S",
    "Bounds",
    "Decision",
    "Idle",
    "Load",
    "Policy",
    "Replay",
    "Schedule",
    "Side",
    "State",
    "Targets",
    "bounds_at",
    "decide",
    "policy_from_json",
    "policy_to_json",
    "replayed",
    "state_from_json",
    "state_to_json",
]
