"""The door through which a node joins; no credential yet, the token is the proof."""

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from controlplane.nodes import services
from controlplane.nodes.auth import message, reply
from wire.messages import RegisterRequest


class RegisterDoor(APIView):
    authentication_classes = []
    permission_classes = [AllowAny]
    schema = None

    def post(self, request: Request) -> HttpResponse:
        registration = message(RegisterRequest, request)
        return reply(services.node_register(request=registration, now=timezone.now()))
