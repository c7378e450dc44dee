"""The states of nodes: whether we hear of them, and what we let them do."""

from enum import StrEnum
from typing import Final

from django.db.models import TextChoices

from controlplane.core.states import Machine, Move


class NodeState(TextChoices):
    """As the row has it, at the latest report or look; ``selectors.node_state`` goes by age."""

    ONLINE = "online"
    SUSPECT = "suspect"  # missed two reports
    OFFLINE = "offline"  # missed four


class NodeCause(StrEnum):
    JOIN = "join"
    REPORT = "report"
    SILENCE = "silence"
    REMOVE = "remove"


S, C = NodeState, NodeCause
NODES: Final = Machine(
    "node",
    S,
    starts=(S.ONLINE,),
    moves=(
        Move(C.JOIN, tuple(S), (S.ONLINE,), "a machine joins again under this name"),
        Move(C.REPORT, tuple(S), (S.ONLINE,), "it reports; nothing else brings a node back"),
        Move(C.SILENCE, (S.ONLINE,), (S.SUSPECT, S.OFFLINE), "two reports are missing, or four"),
        Move(C.SILENCE, (S.SUSPECT,), (S.OFFLINE,), "four reports are missing"),
        Move(C.REMOVE, tuple(S), (), "somebody removes it; its credential stops working"),
    ),
)


class NodeDuty(TextChoices):
    """What we want of a node; kept as ``cordoned`` and the two moments of a drain."""

    OPEN = "open"
    CORDONED = "cordoned"  # takes no new replicas
    DRAINING = "draining"  # and what runs there moves away
    DRAINED = "drained"  # nothing runs there


class DutyCause(StrEnum):
    CORDON = "cordon"
    UNCORDON = "uncordon"
    DRAIN = "drain"
    EMPTY = "empty"
    REMOVE = "remove"


D, W = NodeDuty, DutyCause
DUTIES: Final = Machine(
    "duty of a node",
    D,
    column="duty",
    starts=(D.OPEN,),
    moves=(
        Move(W.CORDON, (D.OPEN,), (D.CORDONED,), "somebody keeps new replicas away"),
        Move(
            W.DRAIN, tuple(D), (D.DRAINING,), "somebody has it emptied; once more: a new deadline"
        ),
        Move(W.EMPTY, (D.DRAINING,), (D.DRAINED,), "nothing runs there any more"),
        Move(W.UNCORDON, (D.CORDONED, D.DRAINING, D.DRAINED), (D.OPEN,), "it takes part again"),
        Move(W.REMOVE, tuple(D), (), "somebody removes it, by force while something runs there"),
    ),
)
