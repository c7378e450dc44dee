"""Long-running operations as Azure's pollers ask for them."""

from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.azure.api.base import ArmView
from controlplane.azure.shapes import operation_status
from controlplane.azure.types import Place
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import endpoint_get
from controlplane.operations.models import Operation
from controlplane.operations.selectors import operation_get, operation_shown
from controlplane.operations.types import ACTIVE

SOON = {"Retry-After": "1"}
# As long as our own client waits: a gateway counts as silent before.
ROUTED_S = 20


class OperationStatusView(ArmView):
    def get(self, request: Request, operation_id: str, **_: str) -> Response:
        del request
        row = operation_get(operation_id)
        return Response(
            operation_status(operation_shown(row)), headers=SOON if row.state in ACTIVE else None
        )


class KeysResultView(ArmView):
    """202 until every gateway that is heard of acts on an endpoint's newest keys."""

    def get(self, request: Request, endpoint: str, until: int, **_: str) -> Response:
        del request
        row = endpoint_get(endpoint)
        if not acted_on(row) and timezone.now().timestamp() < until:
            return Response(None, status=status.HTTP_202_ACCEPTED, headers=SOON)
        return Response({})


def acted_on(endpoint: Endpoint) -> bool:
    return endpoint.confirmed_generation >= endpoint.generation


def accepted(operation: Operation, place: Place, *, code: int, body: object = None) -> Response:
    """``code``, and where to watch."""
    watched = place.location_url("mfeOperationsStatus", operation.pk)
    return Response(body, status=code, headers={"Azure-AsyncOperation": watched, **SOON})
