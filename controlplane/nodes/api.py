"""REST of nodes that concerns no replica: join tokens."""

import shlex

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.policy import Permission
from controlplane.nodes import services
from controlplane.nodes.serializers import JoinTokenSerializer
from controlplane.nodes.types import JOIN_TOKEN_LIFETIME


class JoinTokensView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(
        operation_id="join_tokens_create", request=None, responses={201: JoinTokenSerializer}
    )
    def post(self, request: Request) -> Response:
        """A token that lets one node join within the hour, and the command for that machine."""
        token = services.join_token_create(actor=request.user.get_username())
        body = {
            "token": token,
            "command": (
                f"SHOAL_CONTROL_URL={shlex.quote(settings.SHOAL_PUBLIC_URL)} "
                f"SHOAL_JOIN_TOKEN={token} python -m worker_runtime.agent"
            ),
            "expires_at": timezone.now() + JOIN_TOKEN_LIFETIME,
        }
        return Response(JoinTokenSerializer(body).data, status=status.HTTP_201_CREATED)
