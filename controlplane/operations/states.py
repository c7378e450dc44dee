"""Which state of an operation follows which, and why."""

from enum import StrEnum
from typing import Final

from controlplane.core.states import Machine, Move
from controlplane.operations.types import OperationState


class OperationCause(StrEnum):
    STEP = "step"
    SUCCEED = "succeed"
    FAIL = "fail"
    GIVE_UP = "give up"
    CANCEL = "cancel"
    SUPERSEDE = "supersede"


O, OC = OperationState, OperationCause  # noqa: E741 - reads as a table
OPERATIONS: Final = Machine(
    "operation",
    O,
    starts=(O.QUEUED,),
    moves=(
        Move(OC.STEP, (O.QUEUED, O.RUNNING), (O.RUNNING,), "something of it was done"),
        Move(OC.SUCCEED, (O.RUNNING,), (O.SUCCEEDED,), "all its stages are done"),
        Move(OC.FAIL, (O.RUNNING,), (O.FAILED,), "a stage failed, or its deadline has passed"),
        Move(OC.GIVE_UP, (O.QUEUED, O.RUNNING), (O.FAILED,), "it could not be carried on"),
        Move(OC.CANCEL, (O.QUEUED, O.RUNNING), (O.CANCELED,), "somebody cancelled it, or goes on"),
        Move(OC.SUPERSEDE, (O.QUEUED, O.RUNNING), (O.CANCELED,), "a deletion came"),
    ),
)
