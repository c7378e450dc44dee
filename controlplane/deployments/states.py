"""Which state follows which, and why: endpoints, deployments, trials, sweeps, replicas.

What answers now is not among them: ``serving`` derives it whenever somebody looks.
"""

from enum import StrEnum
from typing import Final

from controlplane.core.states import Machine, Move
from controlplane.deployments.types import (
    RUN_ACTIVE,
    DeploymentState,
    Desired,
    EndpointState,
    ReplicaState,
    RunState,
)


class EndpointCause(StrEnum):
    CHANGE = "change"
    SETTLE = "settle"
    DELETE = "delete"
    FORGET = "forget"


E, EC = EndpointState, EndpointCause
ENDPOINTS: Final = Machine(
    "endpoint",
    E,
    column="provisioning_state",
    starts=(E.SUCCEEDED,),
    moves=(
        Move(EC.CHANGE, (E.SUCCEEDED, E.UPDATING), (E.UPDATING,), "an operation on it begins"),
        Move(EC.SETTLE, (E.UPDATING,), (E.SUCCEEDED,), "its last operation has ended, in any way"),
        Move(EC.DELETE, tuple(E), (E.DELETING,), "somebody deletes it; what is under way ends"),
        Move(EC.FORGET, (E.DELETING,), (), "its replicas are stopped, or were silent too long"),
    ),
)


class DeploymentCause(StrEnum):
    START = "start"
    ROLL = "roll"
    SCALE = "scale"
    SUCCEED = "succeed"
    RESTORE = "restore"
    FAIL = "fail"
    CANCEL = "cancel"
    GIVE_UP = "give up"
    DELETE = "delete"
    FORGET = "forget"


D, DC = DeploymentState, DeploymentCause
DEPLOYMENTS: Final = Machine(
    "deployment",
    D,
    column="provisioning_state",
    starts=(D.CREATING,),
    moves=(
        Move(
            DC.START, (D.FAILED, D.CANCELED), (D.CREATING,), "brought up afresh: it served nobody"
        ),
        Move(DC.START, (D.SUCCEEDED,), (D.UPDATING,), "brought up afresh: paused, or replaced"),
        Move(DC.ROLL, (D.SUCCEEDED,), (D.UPDATING,), "replaced while it serves on"),
        Move(DC.SCALE, (D.SUCCEEDED,), (D.SCALING,), "more replicas, fewer, or none"),
        Move(
            DC.SUCCEED,
            (D.CREATING, D.UPDATING, D.SCALING),
            (D.SUCCEEDED,),
            "it runs as it was asked to",
        ),
        Move(
            DC.RESTORE,
            (D.UPDATING, D.SCALING),
            (D.SUCCEEDED,),
            "the change failed or was cancelled, what served before serves on",
        ),
        Move(
            DC.FAIL, (D.CREATING, D.UPDATING), (D.FAILED,), "it did not come up, nothing of it runs"
        ),
        Move(DC.CANCEL, (D.CREATING, D.UPDATING), (D.CANCELED,), "so, because somebody cancelled"),
        Move(
            DC.GIVE_UP,
            (D.CREATING, D.UPDATING, D.SCALING),
            (D.FAILED,),
            "its operation could not be carried on; what runs is left alone",
        ),
        Move(DC.DELETE, tuple(D), (D.DELETING,), "somebody deletes it; what is under way ends"),
        Move(DC.FORGET, (D.DELETING,), (), "its replicas are stopped, or were silent too long"),
    ),
)


class RunCause(StrEnum):
    """Of what a node does once and reports: trials, load sweeps, tunings."""

    OBSERVE = "observe"
    SUCCEED = "succeed"
    FAIL = "fail"
    EXPIRE = "expire"
    CANCEL = "cancel"
    FORGET = "forget"
    DELETE = "delete"


def _run(name: str, **when: str) -> Machine[RunState, RunCause]:
    """``when``: of each cause that is not the same for all of them, in words."""
    said = {"expire": "its deadline has passed", "cancel": "somebody cancelled it"} | when
    leads = {
        RunCause.OBSERVE: RunState.RUNNING,
        RunCause.SUCCEED: RunState.SUCCEEDED,
        RunCause.FAIL: RunState.FAILED,
        RunCause.EXPIRE: RunState.FAILED,
        RunCause.CANCEL: RunState.CANCELED,
    }
    moves = [Move(cause, RUN_ACTIVE, (new,), said[cause.value]) for cause, new in leads.items()]
    ended = tuple(state for state in RunState if state not in RUN_ACTIVE)
    moves.append(Move(RunCause.FORGET, ended, (), said["forget"]))
    moves.append(Move(RunCause.DELETE, tuple(RunState), (), said["delete"]))
    return Machine(name, RunState, starts=(RunState.QUEUED,), moves=moves)


TRIALS: Final = _run(
    "trial",
    observe="its node reports how far it is",
    succeed="its node reports that it loads",
    fail="its node reports that it does not",
    forget="it ended a day ago",
    delete="its version or its upload is deleted",
)
SWEEPS: Final = _run(
    "load sweep",
    observe="its node has begun, or has a point",
    succeed="its node has measured all of it",
    fail="its node reports that it cannot go on",
    forget="it ended 90 days ago, or its deployment has 50 newer ones",
    delete="its deployment is deleted",
)
TUNINGS: Final = _run(
    "tuning",
    observe="its node has begun, has a point, or is given the next configuration",
    succeed="nothing promises more, or its runs are used up",
    fail="what runs today cannot be measured, or three in a row cannot",
    expire="a run's deadline has passed",
    forget="it ended 90 days ago, or its deployment has 50 newer ones",
    delete="its deployment is deleted",
)


class ReplicaCause(StrEnum):
    """``REPORT`` to ``BACK`` are what a node says, or leaves out; the others are ours."""

    REPORT = "report"
    ABSENT = "absent"
    BACK = "back"
    SILENCE = "silence"
    RESTART = "restart"
    FORGET = "forget"


R, RC = ReplicaState, ReplicaCause
REPORTED: Final = tuple(state for state in R if state != R.UNKNOWN)
REPLICAS: Final = Machine(
    "replica",
    R,
    starts=(R.PENDING,),
    moves=(
        # why everything: reports are facts, and some get lost. A replica whose reports between
        # pending and ready were missed is ready all the same.
        Move(
            RC.REPORT,
            tuple(R),
            REPORTED,
            "its node says so, of this generation; steps between may have been missed",
        ),
        Move(
            RC.ABSENT,
            tuple(state for state in R if state != R.STOPPED),
            (R.STOPPED,),
            "it is to stop, and its node, which knows that, does not mention it any more",
        ),
        Move(RC.BACK, (R.UNKNOWN,), (R.PENDING,), "its node is back without it, and starts it"),
        Move(
            RC.SILENCE,
            tuple(state for state in REPORTED if state not in (R.STOPPED, R.FAILED)),
            (R.UNKNOWN,),
            "its node is offline",
        ),
        Move(
            RC.RESTART,
            tuple(R),
            (R.PENDING,),
            "a new generation: whatever is reported of the old one is not heard any more",
        ),
        Move(RC.FORGET, tuple(R), (), "it is gone, lost, or goes with its deployment or node"),
    ),
)


class DesiredCause(StrEnum):
    RETIRE = "retire"
    STOP = "stop"
    FORGET = "forget"


W, WC = Desired, DesiredCause
DESIRED: Final = Machine(
    "what is desired of a replica",
    W,
    column="desired",
    starts=(W.RUNNING,),
    moves=(
        Move(WC.RETIRE, (W.RUNNING,), (W.RETIRING,), "not wanted any more, and it serves"),
        Move(
            WC.STOP,
            (W.RUNNING, W.RETIRING),
            (W.STOPPED,),
            "gateways leave it alone, or it served nobody",
        ),
        Move(WC.FORGET, tuple(W), (), "the row goes; a node that still runs it stops it"),
    ),
)
