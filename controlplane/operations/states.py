"""Which state of an operation, and of a rollout, follows which, and why."""

from enum import StrEnum
from typing import Final

from controlplane.core.states import Machine, Move
from controlplane.operations.types import OperationState, RolloutState


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


class RolloutCause(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    SUCCEED = "succeed"
    WITHDRAW = "withdraw"
    ABORT = "abort"
    SUPERSEDE = "supersede"
    FORGET = "forget"
    DELETE = "delete"


R, RC = RolloutState, RolloutCause
_UNDER_WAY: Final = (R.RUNNING, R.PAUSED)
_ENDED: Final = (R.SUCCEEDED, R.WITHDRAWN, R.ABORTED, R.SUPERSEDED)
ROLLOUTS: Final = Machine(
    "rollout",
    R,
    starts=(R.RUNNING,),
    moves=(
        Move(RC.PAUSE, (R.RUNNING,), (R.PAUSED,), "somebody holds the step; guardrails go on"),
        Move(RC.RESUME, (R.PAUSED,), (R.RUNNING,), "somebody lets it go on"),
        Move(RC.SUCCEED, _UNDER_WAY, (R.SUCCEEDED,), "the candidate has all of the traffic"),
        Move(RC.WITHDRAW, _UNDER_WAY, (R.WITHDRAWN,), "a guardrail is broken: all is as before"),
        Move(RC.ABORT, _UNDER_WAY, (R.ABORTED,), "somebody ends it: all is as before"),
        Move(RC.SUPERSEDE, _UNDER_WAY, (R.SUPERSEDED,), "the traffic was changed by another way"),
        Move(RC.FORGET, _ENDED, (), "it ended long ago"),
        Move(RC.DELETE, (*_UNDER_WAY, *_ENDED), (), "its endpoint is deleted"),
    ),
)
