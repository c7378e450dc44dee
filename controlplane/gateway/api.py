"""REST of gateways: who they are, and that one is gone."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.gateway import services
from controlplane.gateway.models import Gateway
from controlplane.gateway.selectors import is_alive
from controlplane.gateway.serializers import GatewayListSerializer


class GatewaysView(APIView):
    @extend_schema(operation_id="gateways_list", responses=GatewayListSerializer)
    def get(self, request: Request) -> Response:
        del request
        now = timezone.now()
        items: list[dict[str, Any]] = [
            {
                "name": row.name,
                "state": "online" if is_alive(row, now) else "silent",
                "last_seen_at": row.last_seen_at,
                "applied_version": row.applied_version,
                "error": (row.error or {}).get("message", ""),
                "certificate_ends_at": row.certificate_ends_at if row.certified_at else None,
            }
            for row in Gateway.objects.order_by("name")
        ]
        return Response(GatewayListSerializer({"items": items}).data)


class GatewayView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(
        operation_id="gateways_delete",
        request=None,
        responses={204: None, 409: OpenApiResponse(description="`GatewayAlive`: it reports")},
    )
    def delete(self, request: Request, gateway: str) -> Response:
        """Say that a silent gateway serves no more, so that nothing counts as unconfirmed by it.

        Its Envoy must have ended: one that runs takes the keys that it has. A gateway that is
        removed and comes back is there again.
        """
        services.gateway_remove(name=gateway, actor=actor(request), now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)
