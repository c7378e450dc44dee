"""Values of operations and rollouts: their kinds, states and stages; ``states`` has the table."""

from typing import Final

from django.db.models import TextChoices


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
    INSTALL = "install"
    LOAD = "load"
    WARM = "warm"
    GOLDEN = "golden"
    ROUTE = "route"
    ROLLOUT = "rollout"
    STOP = "stop"


class GoldenGate(TextChoices):
    """Whether golden cases are asked before what an operation starts answers requests."""

    ASK = "ask"
    SKIP = "skip"  # somebody said so, which is recorded
    NONE = "none"  # it ran before: a restart, a way back


class StageStatus(TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class RolloutState(TextChoices):
    RUNNING = "Running"
    PAUSED = "Paused"
    SUCCEEDED = "Succeeded"
    WITHDRAWN = "Withdrawn"
    ABORTED = "Aborted"
    SUPERSEDED = "Superseded"


ROLLING: Final = (RolloutState.RUNNING, RolloutState.PAUSED)
ACTIVE: Final = (OperationState.QUEUED, OperationState.RUNNING)

# Why a decision of the autoscaler is not carried out, where that does not pass by itself.
STUCK: Final = ("OutOfCapacity", "LastChangeFailed", "ProjectQuotaExceeded")
