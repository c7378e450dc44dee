"""What can go wrong with endpoints, deployments and operations."""

from controlplane.core.errors import Conflict, Invalid, NotFound


class EndpointNotFound(NotFound):
    code = "EndpointNotFound"


class DeploymentNotFound(NotFound):
    code = "DeploymentNotFound"


class OperationNotFound(NotFound):
    code = "OperationNotFound"


class NameInvalid(Invalid):
    code = "NameInvalid"


class NameTaken(Conflict):
    code = "NameTaken"


class TrafficInvalid(Invalid):
    code = "TrafficInvalid"


class MirrorInvalid(Invalid):
    code = "MirrorInvalid"


class DeploymentHasTraffic(Conflict):
    code = "DeploymentHasTraffic"


class OperationInProgress(Conflict):
    """``extra["operation"]`` is the id of the one that is running."""

    code = "OperationInProgress"


class OperationFinished(Conflict):
    code = "OperationFinished"


class ModelNotDeployable(Invalid):
    code = "ModelNotDeployable"


class DrainImpossible(Conflict):
    code = "OutOfCapacity"


class RevisionNotFound(NotFound):
    code = "RevisionNotFound"


class ProbeInvalid(Invalid):
    code = "BadArgument"


class InstanceTypeUnknown(Invalid):
    code = "InstanceTypeUnknown"


class InstanceTypeNotFound(NotFound):
    code = "InstanceTypeNotFound"


class InstanceTypeInUse(Conflict):
    code = "InUse"


class TrialNotFound(NotFound):
    code = "TrialNotFound"


class TrialFinished(Conflict):
    code = "OperationFinished"


class TrialImpossible(Conflict):
    code = "OutOfCapacity"


class TooManyTrials(Conflict):
    code = "TooManyTrials"


class AuthModeMismatch(Conflict):
    code = "AuthModeMismatch"


class NodeInUse(Conflict):
    code = "InUse"
