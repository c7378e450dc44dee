"""States of deployments, replicas and operations, and which may follow which."""

from collections.abc import Mapping
from typing import Final, TypeVar

from django.db.models import TextChoices

from controlplane.core.errors import Conflict


class IllegalTransition(Conflict):
    """A state change that the tables below do not know."""

    code = "IllegalTransition"
    tries = ("Read it again: something else changed it meanwhile.",)


class AuthMode(TextChoices):
    KEY = "key"
    TOKEN = "aml_token"  # noqa: S105 - as Azure calls it: short-lived, from the control plane


class RateLimitPer(TextChoices):
    """What has a count of its own."""

    ENDPOINT = "endpoint"
    KEY = "key"


class EndpointState(TextChoices):
    CREATING = "Creating"
    UPDATING = "Updating"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    DELETING = "Deleting"


class DeploymentState(TextChoices):
    CREATING = "Creating"
    UPDATING = "Updating"
    SCALING = "Scaling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELED = "Canceled"
    DELETING = "Deleting"


class AntiAffinity(TextChoices):
    """How far replicas of one deployment keep away from each other."""

    PREFERRED = "preferred"  # different nodes while there are any
    REQUIRED = "required"  # never two on one node


class GpuPolicy(TextChoices):
    PREFERRED = "preferred"  # runs on processors where no GPU fits
    REQUIRED = "required"


class Desired(TextChoices):
    RUNNING = "running"
    RETIRING = "retiring"  # runs on, until gateways have confirmed that they send nothing new
    STOPPED = "stopped"


class ReplicaState(TextChoices):
    """``wire.messages.REPLICA_STATES``, and what only the control plane can say: unknown."""

    PENDING = "pending"
    DOWNLOADING = "downloading"
    STARTING = "starting"
    LOADING = "loading"
    WARMING = "warming"
    READY = "ready"
    DRAINING = "draining"
    STOPPED = "stopped"
    FAILED = "failed"
    UNKNOWN = "unknown"  # its node is silent


class TrialState(TextChoices):
    QUEUED = "Queued"  # its node has not heard of it yet
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELED = "Canceled"


class OperationState(TextChoices):
    QUEUED = "Queued"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELED = "Canceled"


class OperationKind(TextChoices):
    DEPLOY = "deploy"
    SCALE = "scale"
    DELETE_DEPLOYMENT = "delete-deployment"
    DELETE_ENDPOINT = "delete-endpoint"


class StageName(TextChoices):
    VALIDATE = "validate"
    PLACE = "place"
    DOWNLOAD = "download"
    LOAD = "load"
    WARM = "warm"
    ROUTE = "route"
    STOP = "stop"


class StageStatus(TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class ServingState(TextChoices):
    """The second axis: is it answering now? Derived, never stored."""

    HEALTHY = "Healthy"
    DEGRADED = "Degraded"
    UNAVAILABLE = "Unavailable"
    STOPPED = "Stopped"
    DEPLOYING = "Deploying"


StateT = TypeVar("StateT", DeploymentState, OperationState, TrialState)

D = DeploymentState
DEPLOYMENT_MOVES: Final[Mapping[DeploymentState, frozenset[DeploymentState]]] = {
    D.CREATING: frozenset({D.SUCCEEDED, D.FAILED, D.CANCELED, D.DELETING}),
    D.UPDATING: frozenset({D.SUCCEEDED, D.FAILED, D.CANCELED, D.DELETING}),
    # A failed or cancelled scaling leaves the replicas of before, which serve on.
    D.SCALING: frozenset({D.SUCCEEDED, D.FAILED, D.CANCELED, D.DELETING}),
    D.SUCCEEDED: frozenset({D.UPDATING, D.SCALING, D.DELETING}),
    D.FAILED: frozenset({D.CREATING, D.UPDATING, D.DELETING}),
    D.CANCELED: frozenset({D.CREATING, D.UPDATING, D.DELETING}),
    D.DELETING: frozenset(),
}

O = OperationState  # noqa: E741 - reads as a table
OPERATION_MOVES: Final[Mapping[OperationState, frozenset[OperationState]]] = {
    O.QUEUED: frozenset({O.RUNNING, O.SUCCEEDED, O.FAILED, O.CANCELED}),
    O.RUNNING: frozenset({O.SUCCEEDED, O.FAILED, O.CANCELED}),
    O.SUCCEEDED: frozenset(),
    O.FAILED: frozenset(),
    O.CANCELED: frozenset(),
}
T = TrialState
TRIAL_MOVES: Final[Mapping[TrialState, frozenset[TrialState]]] = {
    T.QUEUED: frozenset({T.RUNNING, T.SUCCEEDED, T.FAILED, T.CANCELED}),
    T.RUNNING: frozenset({T.SUCCEEDED, T.FAILED, T.CANCELED}),
    T.SUCCEEDED: frozenset(),
    T.FAILED: frozenset(),
    T.CANCELED: frozenset(),
}
TRIAL_ACTIVE: Final = (TrialState.QUEUED, TrialState.RUNNING)
ACTIVE: Final = (OperationState.QUEUED, OperationState.RUNNING)


def transition(table: Mapping[StateT, frozenset[StateT]], old: StateT, new: StateT) -> StateT:
    """``new``, when the table lets ``old`` become it; staying is fine. Raises IllegalTransition."""
    if new != old and new not in table[old]:
        raise IllegalTransition(f"{type(old).__name__}: {old.value} cannot become {new.value}.")
    return new


def size_text(size: int) -> str:
    """Bytes for people: 12.3 MB."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
