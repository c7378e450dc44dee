"""The API for node agents: who is calling, and messages in and out."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

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


class NodeRequest(HttpRequest):
    """A request that the gate of the nodes' API has let in."""

    node: Node


@method_decorator(csrf_exempt, name="dispatch")
class NodeView(View):
    """Base of the resources that only an enrolled node may use.

    It shows ``Authorization: Bearer snode_<node id>_<secret>``, and the certificate of its
    connection. Django's plain views: agents send messages of ``wire``, and of REST framework
    nothing would be left but its cost, for every call of every node.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Raises NodeUnknown."""
        known = cast(NodeRequest, request)
        known.node = services.node_admitted(
            authorization=request.headers.get("Authorization", ""),
            certificate=shown(getattr(request, "scope", {})),
            now=timezone.now(),
        )
        return super().dispatch(known, *args, **kwargs)


def message(kind: type[MessageT], request: HttpRequest) -> MessageT:
    """The body as one ``kind``, tidied. Raises BadMessage."""
    return message_and_violations(kind, request)[0]


def message_and_violations(
    kind: type[MessageT], request: HttpRequest
) -> tuple[MessageT, list[Violation]]:
    """The body as one ``kind``, and what of it was changed (``claims.tidied``).

    Raises BadMessage.
    """
    return tidied(decoded(kind, request))


def decoded(kind: type[MessageT], request: HttpRequest) -> MessageT:
    """The body as one ``kind``, as it came. Raises BadMessage."""
    try:
        return codec.decode(kind, request.body)
    except codec.WireError as error:
        raise BadMessage(str(error)) from error


def reply(answer: object) -> HttpResponse:
    return HttpResponse(codec.encode(answer), content_type="application/json")
