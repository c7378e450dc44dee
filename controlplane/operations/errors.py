"""What can go wrong with operations, and with what takes replicas away."""

from controlplane.core.errors import Conflict, Invalid, NotFound


class OperationNotFound(NotFound):
    code = "OperationNotFound"
    tries = ("`GET /api/v1/operations` lists those that are kept.",)


class OperationInProgress(Conflict):
    """``extra``: ``operation``, the id of the one that is running, and ``operation_url``."""

    code = "OperationInProgress"
    tries = ("Wait for it, cancel it, or send the same with `?supersede=true` (`--supersede`).",)


class AsItIs(Conflict):
    """What is asked for is so already: a mistake, unless it just became so by superseding."""

    tries = ("Nothing needs to be done; read the deployment to see what it runs.",)


class OperationFinished(Conflict):
    code = "OperationFinished"
    tries = ("Read it for its outcome; a new change makes a new operation.",)


class DrainImpossible(Conflict):
    code = "OutOfCapacity"
    tries = ("Make room on other nodes, or let it happen with `force`.",)


class NodeInUse(Conflict):
    code = "InUse"
    tries = ("Drain the node first, or remove it with `force`.",)


class RolloutNotFound(NotFound):
    code = "RolloutNotFound"
    tries = ("`GET /api/v1/endpoints/{endpoint}/rollouts` lists those that are kept.",)


class RolloutInvalid(Invalid):
    code = "RolloutInvalid"
    tries = ("Name a ready deployment with less of the traffic than the first step gives it.",)


class RolloutInProgress(Conflict):
    """``extra``: ``rollout``, the id of the one that is under way, and ``rollout_url``."""

    code = "RolloutInProgress"
    tries = (
        "Promote or abort it first; a change of the traffic with `?supersede=true` "
        "(`--supersede`) ends it.",
    )


class RolloutFinished(Conflict):
    code = "RolloutFinished"
    tries = ("Read it for its outcome; start another one.",)
