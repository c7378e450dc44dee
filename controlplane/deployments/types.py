"""Values of deployments: their states, and why something failed; ``states`` has the tables."""

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import TextChoices


class AuthMode(TextChoices):
    KEY = "key"
    TOKEN = "aml_token"  # noqa: S105 - as Azure calls it: short-lived, from the control plane


class RateLimitPer(TextChoices):
    """What has a count of its own."""

    ENDPOINT = "endpoint"
    KEY = "key"


class EndpointState(TextChoices):
    """As Azure calls them. It is made at once, and what fails is a deployment: it is never so."""

    UPDATING = "Updating"
    SUCCEEDED = "Succeeded"
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


class RunState(TextChoices):
    """Of what a node does once: trials, load sweeps, tunings."""

    QUEUED = "Queued"  # its node has not heard of it, or has not begun yet
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELED = "Canceled"


class ServingState(TextChoices):
    """The second axis: is it answering now? Derived, never stored."""

    HEALTHY = "Healthy"
    DEGRADED = "Degraded"
    UNAVAILABLE = "Unavailable"
    STOPPED = "Stopped"
    DEPLOYING = "Deploying"
    IDLE = "Idle"


RUN_ACTIVE: Final = (RunState.QUEUED, RunState.RUNNING)
NO_GPU_MEMORY: Final = "GpuOutOfMemory"  # the code that node agents report


@dataclass(frozen=True, slots=True)
class Failure:
    """``wire.messages.Problem`` as the control plane keeps it."""

    code: str
    message: str
    detail: str = ""
    hints: tuple[str, ...] = ()
    replica_id: str = ""  # whose last log lines belong to it


def failure_data(failure: Failure) -> dict[str, Any]:
    """As rows and the API keep it."""
    return {
        "code": failure.code,
        "message": failure.message,
        "detail": failure.detail,
        "hints": list(failure.hints),
    }


def size_text(size: int) -> str:
    """Bytes for people: 12.3 MB."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
