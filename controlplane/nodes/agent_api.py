"""The doors of nodes as such: joining (the token is the proof), the bell, and what caches hold."""

from django.conf import settings
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.utils import timezone
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from controlplane.core.errors import NotFound
from controlplane.nodes import services
from controlplane.nodes.auth import NodeDoor, caller, message, reply
from controlplane.nodes.bells import Listener
from wire.messages import CacheReport, RegisterRequest


class CacheDoor(NodeDoor):
    def post(self, request: Request) -> HttpResponse:
        services.cache_seen(node=caller(request), report=message(CacheReport, request))
        return JsonResponse({})


class BellDoor(NodeDoor):
    """An answer that stays open; ``config.lane`` keeps no thread for it."""

    http_method_names = ["get"]

    def get(self, request: Request) -> StreamingHttpResponse:
        return StreamingHttpResponse(
            Listener(caller(request)),
            content_type="text/plain; charset=utf-8",
            headers={"X-Accel-Buffering": "no"},  # what nginx needs to pass lines on as they come
        )


class AuthorityDoor(APIView):
    """What signed our certificate: public, and what an agent compares with its join token."""

    authentication_classes = []
    permission_classes = [AllowAny]
    schema = None

    def get(self, request: Request) -> HttpResponse:
        del request
        if not settings.SHOAL_PUBLIC_CA:
            raise NotFound(
                "No certificate authority of our own is set.",
                code="AuthorityNotFound",
                hints=("Set SHOAL_PUBLIC_CA_FILE, then make a new join token.",),
            )
        return HttpResponse(settings.SHOAL_PUBLIC_CA, content_type="application/x-pem-file")


class RegisterDoor(APIView):
    authentication_classes = []
    permission_classes = [AllowAny]
    schema = None

    def post(self, request: Request) -> HttpResponse:
        registration = message(RegisterRequest, request)
        return reply(services.node_register(request=registration, now=timezone.now()))
