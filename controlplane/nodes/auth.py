"""Doors for node agents: who is calling, and messages in and out."""

from typing import TypeVar

from django.http import HttpResponse
from rest_framework import authentication, exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from controlplane.nodes import selectors
from controlplane.nodes.claims import Complaint, tidied
from controlplane.nodes.errors import BadMessage
from controlplane.nodes.models import Node
from wire import codec

MessageT = TypeVar("MessageT")
CHALLENGE = 'Bearer realm="shoal-node"'


class NodeAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer snode_<node id>_<secret>``; ``request.auth`` is then the node."""

    def authenticate(self, request: Request) -> tuple[None, Node]:
        scheme, _, credential = request.headers.get("Authorization", "").partition(" ")
        node = None
        if scheme.lower() == "bearer":
            node = selectors.node_for_credential(credential.strip())
        if node is None:
            raise exceptions.AuthenticationFailed("This node credential is not valid.")
        return None, node

    def authenticate_header(self, request: Request) -> str:
        del request
        return CHALLENGE


class IsNode(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        del view
        return isinstance(request.auth, Node)


class NodeDoor(APIView):
    """Base of the doors that only an enrolled node may use."""

    authentication_classes = [NodeAuthentication]
    permission_classes = [IsNode]
    schema = None  # not part of the public OpenAPI document


def caller(request: Request) -> Node:
    """The node that passed NodeAuthentication."""
    if not isinstance(request.auth, Node):
        raise exceptions.NotAuthenticated()
    return request.auth


def message(kind: type[MessageT], request: Request) -> MessageT:
    """The body as one ``kind``, tidied. Raises BadMessage."""
    return message_and_complaints(kind, request)[0]


def message_and_complaints(
    kind: type[MessageT], request: Request
) -> tuple[MessageT, list[Complaint]]:
    """The body as one ``kind``, and what of it was changed (``claims.tidied``).

    Raises BadMessage.
    """
    try:
        return tidied(codec.decode(kind, request.body))
    except codec.WireError as error:
        raise BadMessage(str(error)) from error


def reply(answer: object) -> HttpResponse:
    return HttpResponse(codec.encode(answer), content_type="application/json")
