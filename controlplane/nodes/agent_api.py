"""The API of nodes as such: joining (the token is the proof), wake-ups, what caches hold."""

from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.utils import timezone
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from controlplane.nodes import authority, services
from controlplane.nodes.auth import NodeView, caller, decoded, message, reply
from controlplane.nodes.wake_ups import Listener
from wire.messages import CacheReport, CertificateRequest, RegisterRequest


class CacheView(NodeView):
    def post(self, request: Request) -> HttpResponse:
        services.cache_seen(node=caller(request), report=message(CacheReport, request))
        return JsonResponse({})


class WakeUpStreamView(NodeView):
    """An answer that stays open; ``config.agent_pool`` keeps no thread for it."""

    http_method_names = ["get"]

    def get(self, request: Request) -> StreamingHttpResponse:
        return StreamingHttpResponse(
            Listener(caller(request)),
            content_type="text/plain; charset=utf-8",
            headers={"X-Accel-Buffering": "no"},  # what nginx needs to pass lines on as they come
        )


class AuthorityView(APIView):
    """Who signs the agents' port: public, and what an agent compares with its join token."""

    authentication_classes = []
    permission_classes = [AllowAny]
    schema = None

    def get(self, request: Request) -> HttpResponse:
        del request
        pem = authority.authority_pem(timezone.now())
        return HttpResponse(pem, content_type="application/x-pem-file")


class CertificateView(NodeView):
    """The first certificate of a node, and every next one."""

    def post(self, request: Request) -> HttpResponse:
        wanted = decoded(CertificateRequest, request)  # tidying would take its line ends
        now = timezone.now()
        return reply(services.node_certificate(node=caller(request), csr=wanted.csr, now=now))


class RegisterView(APIView):
    authentication_classes = []
    permission_classes = [AllowAny]
    schema = None

    def post(self, request: Request) -> HttpResponse:
        registration = message(RegisterRequest, request)
        return reply(services.node_register(request=registration, now=timezone.now()))
