"""The API of nodes as such: joining (the token is the proof), wake-ups, what caches hold."""

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from controlplane.nodes import authority, services, wake_ups
from controlplane.nodes.auth import NodeRequest, NodeView, decoded, message, reply
from controlplane.nodes.wake_ups import Listener
from wire.messages import CacheReport, CertificateRequest, RegisterRequest


class CacheView(NodeView):
    def post(self, request: NodeRequest) -> HttpResponse:
        services.cache_seen(node=request.node, report=message(CacheReport, request))
        return JsonResponse({})


class WakeUpStreamView(NodeView):
    http_method_names = ["get"]

    def get(self, request: NodeRequest) -> StreamingHttpResponse:
        node = request.node
        return wake_ups.answer(Listener(node.id, credential_hash=node.credential_hash))


@require_safe
def ca(request: HttpRequest) -> HttpResponse:
    """Who signs the agents' port: public, and what an agent compares with its join token."""
    del request
    pem = authority.authority_pem(timezone.now())
    return HttpResponse(pem, content_type="application/x-pem-file")


class CertificateView(NodeView):
    """The first certificate of a node, and every next one."""

    def post(self, request: NodeRequest) -> HttpResponse:
        wanted = decoded(CertificateRequest, request)  # tidying would take its line ends
        now = timezone.now()
        return reply(services.node_certificate(node=request.node, csr=wanted.csr, now=now))


@csrf_exempt
@require_POST
def register(request: HttpRequest) -> HttpResponse:
    registration = message(RegisterRequest, request)
    return reply(services.node_register(request=registration, now=timezone.now()))
