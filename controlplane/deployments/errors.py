"""What can go wrong with endpoints and deployments."""

from controlplane.core.errors import Conflict, Invalid, NotFound


class EndpointNotFound(NotFound):
    code = "EndpointNotFound"
    tries = ("`GET /api/v1/endpoints` lists those that there are.",)


class DeploymentNotFound(NotFound):
    code = "DeploymentNotFound"
    tries = ("`GET /api/v1/endpoints/{endpoint}` lists its deployments.",)


class NameTaken(Conflict):
    code = "NameTaken"
    tries = ("Choose another name, or change the one that is there.",)


class TrafficInvalid(Invalid):
    code = "TrafficInvalid"
    tries = ("Send whole percents that add up to 100, or to 0, of deployments that are ready.",)


class MirrorInvalid(Invalid):
    code = "MirrorInvalid"
    tries = ("Name one deployment without traffic, with 1 to 50 percent; {} ends it.",)


class RuleInvalid(Invalid):
    code = "RuleInvalid"
    tries = ("Name deployments that are ready, and ask for each header and value once.",)


class DeploymentHasTraffic(Conflict):
    code = "DeploymentHasTraffic"
    tries = ("Give its traffic to another deployment first.",)


class ModelNotDeployable(Invalid):
    code = "ModelNotDeployable"
    tries = ("Choose another version: `GET /api/v1/models/{name}/versions` lists them.",)


class RequestNotFound(NotFound):
    code = "RequestNotFound"
    tries = (
        "`GET .../requests?id=` finds those whose ids begin so. A few of all requests are kept, "
        "for six hours.",
    )


class RevisionNotFound(NotFound):
    code = "RevisionNotFound"
    tries = ("`GET .../revisions` lists those of this deployment.",)


class ProbeInvalid(Invalid):
    code = "BadArgument"
    tries = ("Send whole seconds and counts, as in /api/v1/openapi.json.",)


class InstanceTypeUnknown(Invalid):
    code = "InstanceTypeUnknown"
    tries = ("`GET /api/v1/instance-types` lists names and aliases.",)


class InstanceTypeNotFound(NotFound):
    code = "InstanceTypeNotFound"
    tries = ("`GET /api/v1/instance-types` lists names and aliases.",)


class InstanceTypeInUse(Conflict):
    code = "InUse"
    tries = ("Let its deployments ask for another one first.",)


class TrialNotFound(NotFound):
    code = "TrialNotFound"
    tries = ("They are kept for a day: start another.",)


class RunFinished(Conflict):
    code = "OperationFinished"
    tries = ("Read it for its outcome, or start another.",)


class TrialImpossible(Conflict):
    code = "OutOfCapacity"
    tries = ("Make room on a node, or add one; `POST /api/v1/placement/preview` says why not.",)


class TooManyTrials(Conflict):
    code = "TooManyTrials"
    tries = ("Wait until one has ended, or cancel one.",)


class AuthModeMismatch(Conflict):
    code = "AuthModeMismatch"
    tries = ("Change `auth_mode` of the endpoint, or ask for what goes with it.",)


class SweepNotFound(NotFound):
    code = "SweepNotFound"
    tries = ("`GET .../deployments/{deployment}/sweeps` lists those that are kept.",)


class SweepInProgress(Conflict):
    code = "SweepInProgress"
    tries = ("Wait until it has ended, or cancel it: two would measure each other.",)


class TuningNotFound(NotFound):
    code = "TuningNotFound"
    tries = ("`GET .../deployments/{deployment}/tunings` lists those that are kept.",)


class TuningInProgress(Conflict):
    code = "TuningInProgress"
    tries = ("Wait until it has ended, or cancel it: two would measure each other.",)


class TuningImpossible(Conflict):
    code = "OutOfCapacity"
    tries = ("Bring a node back, or name another one.",)


class NothingToApply(Conflict):
    code = "NothingToApply"
    tries = ("Read the tuning for what was measured.",)


class NodeServes(Conflict):
    code = "DeploymentServes"
    tries = ("Name a node that serves nobody, or send `while_serving: true`.",)


class NoReadyReplica(Conflict):
    code = "NoReadyReplica"
    tries = ("Start it, or wait until a replica of its newest revision is ready.",)


class DeploymentServes(Conflict):
    code = "DeploymentServes"
    tries = ("Give its traffic to another deployment first, or send `while_serving: true`.",)
