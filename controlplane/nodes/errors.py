"""What can go wrong with nodes and with their doors."""

from controlplane.core.errors import Conflict, Invalid, NotFound, Unauthenticated


class NodeNotFound(NotFound):
    code = "NodeNotFound"


class NodeNameTaken(Conflict):
    """Another machine joined under this name, and is alive."""

    code = "NodeNameTaken"


class JoinTokenNotFound(NotFound):
    code = "JoinTokenNotFound"


class JoinTokenRefused(Unauthenticated):
    code = "JoinTokenRefused"


class BadMessage(Invalid):
    """A body that is not the message which this door expects."""

    code = "BadMessage"
