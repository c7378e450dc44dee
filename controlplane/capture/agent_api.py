"""The API for node agents: files of captured data."""

from django.http import HttpResponse
from django.utils import timezone

from controlplane.capture import services
from controlplane.nodes.auth import NodeRequest, NodeView


class CapturedView(NodeView):
    http_method_names = ["put"]

    def put(self, request: NodeRequest, replica: str, name: str) -> HttpResponse:
        services.captured_receive(
            node=request.node,
            replica=replica,
            name=name,
            endpoint=request.GET.get("endpoint", ""),
            deployment=request.GET.get("deployment", ""),
            content=request.body,
            now=timezone.now(),
        )
        return HttpResponse(status=204)
