"""The doors of nodes as such: joining (the token is the proof), and what their caches hold."""

from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from controlplane.nodes import services
from controlplane.nodes.auth import NodeDoor, caller, message, reply
from wire.messages import CacheReport, RegisterRequest


class CacheDoor(NodeDoor):
    def post(self, request: Request) -> HttpResponse:
        services.cache_seen(node=caller(request), report=message(CacheReport, request))
        return JsonResponse({})


class RegisterDoor(APIView):
    authentication_classes = []
    permission_classes = [AllowAny]
    schema = None

    def post(self, request: Request) -> HttpResponse:
        registration = message(RegisterRequest, request)
        return reply(services.node_register(request=registration, now=timezone.now()))
