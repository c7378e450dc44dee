"""REST of the system page."""

from dataclasses import asdict

from django.conf import settings
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import may
from controlplane.accounts.policy import PEOPLE, Permission
from controlplane.system import diagnosis, selectors
from controlplane.system.sbom import bill_of_materials
from controlplane.system.serializers import SystemSerializer
from controlplane.system.support import support_facts
from controlplane.system.types import worst


class SystemView(APIView):
    @extend_schema(operation_id="system_get", responses=SystemSerializer)
    def get(self, request: Request) -> Response:
        """How each part does: web, databases, broker, beat, workers, gateways, agents, disks."""
        now = timezone.now()
        parts = selectors.system_parts(now)
        forwarded = diagnosis.Forwarded(
            address=str(request.META.get("REMOTE_ADDR") or ""),
            addresses=request.headers.get("X-Forwarded-For", ""),
            scheme=request.headers.get("X-Forwarded-Proto", "").lower(),
            secure=request.is_secure(),
            public_url=settings.SHOAL_PUBLIC_URL,
        )
        if (proxy := diagnosis.proxy(forwarded)) is not None:
            parts.insert(1, proxy)
        remote = settings.SHOAL_REMOTE_USER
        header = diagnosis.remote_user(
            remote.user_header if remote else "", bool(settings.SHOAL_TRUSTED_PROXIES)
        )
        if header is not None:
            parts.insert(1, header)
        newest = selectors.newest_event(people=may(request, PEOPLE))
        body = {
            "state": worst([part.state for part in parts]),
            "version": settings.SHOAL_VERSION,
            "now": now,
            "newest_event_seq": newest.seq if newest else 0,
            "newest_event_at": newest.at if newest else None,
            "parts": [asdict(part) for part in parts],
        }
        return Response(SystemSerializer(body).data)


class SbomView(APIView):
    read_permission = Permission.ADMINISTER

    @extend_schema(operation_id="system_sbom", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> Response:
        """The Python packages of the installation that answers, as CycloneDX 1.6."""
        del request
        return Response(bill_of_materials(settings.SHOAL_VERSION, timezone.now()))


class SupportView(APIView):
    read_permission = Permission.ADMINISTER

    @extend_schema(operation_id="system_support", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> Response:
        """Versions, settings without secrets, tables and migrations, for a support bundle."""
        del request
        return Response(support_facts(timezone.now()))
