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
from controlplane.core.certificates import pem
from controlplane.gateway import authority, services
from controlplane.gateway.models import Gateway
from controlplane.gateway.selectors import is_alive
from controlplane.gateway.serializers import AuthoritySerializer, GatewayListSerializer


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
                "served_source": row.served_source,
                "served_ends_at": row.served_ends_at,
            }
            for row in Gateway.objects.order_by("name")
        ]
        return Response(GatewayListSerializer({"items": items}).data)


class AuthorityView(APIView):
    @extend_schema(operation_id="ca_get", responses=AuthoritySerializer)
    def get(self, request: Request) -> Response:
        """Whom clients of endpoints should trust: one file for all gateways."""
        del request
        found = authority.trusted(timezone.now())
        items = [
            {
                "subject": one.certificate.subject.rfc4514_string(),
                "sha256": one.sha256,
                "ends_at": one.certificate.not_valid_after_utc,
                "supplied": one.supplied,
                "signs": one.signs,
            }
            for one in found
        ]
        certificates = "".join(pem(one.certificate) for one in found)
        return Response(AuthoritySerializer({"certificates": certificates, "items": items}).data)


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
