"""The states of an alert."""

from enum import StrEnum
from typing import Final

from controlplane.alerts.types import AlertState
from controlplane.core.states import Machine, Move

_S = AlertState


class AlertCause(StrEnum):
    FIRE = "fire"
    RESOLVE = "resolve"
    DROP = "drop"
    PRUNE = "prune"


ALERTS: Final = Machine(
    "alert",
    AlertState,
    starts=(_S.PENDING, _S.FIRING),
    moves=(
        Move(AlertCause.FIRE, (_S.PENDING,), (_S.FIRING,), "the rule is broken for its time"),
        Move(
            AlertCause.RESOLVE,
            (_S.FIRING,),
            (_S.RESOLVED,),
            "the rule holds again for its time, or what it is about is gone",
        ),
        Move(AlertCause.DROP, (_S.PENDING,), (), "the rule holds again before it fired"),
        Move(AlertCause.PRUNE, (_S.RESOLVED,), (), "it was resolved 90 days ago"),
    ),
)
