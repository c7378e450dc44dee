"""What can go wrong with nodes and with their messages."""

from controlplane.core.errors import Conflict, Invalid, NotFound, Unauthenticated


class NodeNotFound(NotFound):
    code = "NodeNotFound"
    tries = ("`GET /api/v1/nodes` lists those that there are.",)


class NodeNameTaken(Conflict):
    """Another agent joined under this name, and is alive."""

    code = "NodeNameTaken"
    tries = ("Give this machine another name (SHOAL_NODE_NAME), or stop the other one.",)


class NodeNameRefused(Invalid):
    """It could not be part of an address, or of what people type."""

    code = "NodeNameRefused"
    tries = ("Give this machine another name (SHOAL_NODE_NAME). The join token was not used.",)


class JoinTokenNotFound(NotFound):
    code = "JoinTokenNotFound"
    tries = ("`GET /api/v1/join-tokens` lists them.",)


class JoinTokenRefused(Unauthenticated):
    code = "JoinTokenRefused"
    tries = ("Make a new token; each lets one node in, within the hour.",)


class NodeUnknown(Unauthenticated):
    """Who calls does not prove to be a node; the text says what is missing."""

    code = "NodeUnknown"
    tries = ("Make a new join token (Nodes, Add node), and let the machine join with it.",)


class CertificateRequestRefused(Invalid):
    code = "CertificateRequestRefused"
    tries = ("Let agent and control plane have the same version.",)


class BadMessage(Invalid):
    """A body that is not the message which this resource expects."""

    code = "BadMessage"
    tries = ("Let agent and control plane have the same version.",)
