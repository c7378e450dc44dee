"""The API for node agents: who is calling, and messages in and out."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import authentication, exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from controlplane.nodes import services
from controlplane.nodes.claims import Violation, tidied
from controlplane.nodes.errors import BadMessage
from controlplane.nodes.models import Node
from wire import codec

MessageT = TypeVar("MessageT")
EXTENSION: Final = "shoal.certificate"  # of the ASGI scope


def shown(scope: Mapping[str, Any]) -> str:
    """Whose verified certificate the connection shows, as ``node/<id>``; empty for none.

    Only the agents' port sets this (``config.agent_server``): no header can.
    """
    return str(scope.get("extensions", {}).get(EXTENSION, {}).get("who", ""))


class NodeAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer snode_<node id>_<secret>``, and the certificate of the connection;
    ``request.auth`` is then the node."""

    def authenticate(self, request: Request) -> tuple[None, Node]:
        node = services.node_admitted(
            authorization=request.headers.get("Authorization", ""),
            certificate=shown(getattr(request, "scope", {})),
            now=timezone.now(),
        )
        return None, node

    def authenticate_header(self, request: Request) -> str:
        del request
        return 'Bearer realm="shoal"'


class IsNode(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        del view
        return isinstance(request.auth, Node)


class NodeView(APIView):
    """Base of the resources that only an enrolled node may use."""

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
    return message_and_violations(kind, request)[0]


def message_and_violations(
    kind: type[MessageT], request: Request
) -> tuple[MessageT, list[Violation]]:
    """The body as one ``kind``, and what of it was changed (``claims.tidied``).

    Raises BadMessage.
    """
    return tidied(decoded(kind, request))


def decoded(kind: type[MessageT], request: Request) -> MessageT:
    """The body as one ``kind``, as it came. Raises BadMessage."""
    try:
        return codec.decode(kind, request.body)
    except codec.WireError as error:
        raise BadMessage(str(error)) from error


def reply(answer: object) -> HttpResponse:
    return HttpResponse(codec.encode(answer), content_type="application/json")
