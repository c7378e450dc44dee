"""Online endpoints, their keys and their tokens."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.azure.api.base import ArmView, body_of, checked, listed, properties_of
from controlplane.azure.api.operations import ROUTED_S, SOON, accepted, acted_on
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.shapes import endpoint_resource, endpoint_values, texts
from controlplane.azure.types import Place, Values
from controlplane.deployments import services as deployments
from controlplane.deployments.errors import EndpointNotFound
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import endpoint_get, endpoints_matching
from controlplane.deployments.serializers.endpoints import (
    EndpointPatchSerializer,
    EndpointPutSerializer,
)
from controlplane.deployments.services.endpoints import LIMITS
from controlplane.deployments.types import EndpointState
from controlplane.operations import services
from controlplane.operations.selectors import endpoints_shown

# What PATCH changes of an endpoint's properties: Azure's names, and ours.
CHANGED = {
    "description": "description",
    "traffic": "traffic",
    "mirrorTraffic": "mirror_traffic",
}


def resources(rows: list[Endpoint], place: Place) -> list[Values]:
    shown = endpoints_shown(rows)
    return [
        endpoint_resource(one, place, state=_state(row))
        for one, row in zip(shown, rows, strict=True)
    ]


def _state(row: Endpoint) -> str:
    """Done is it once gateways act on what was changed last, unless none takes it."""
    fresh = timezone.now() - row.updated_at < timedelta(seconds=ROUTED_S)
    if row.provisioning_state == EndpointState.SUCCEEDED and fresh and not acted_on(row):
        return EndpointState.UPDATING.value
    return str(row.provisioning_state)


def answered(name: str, place: Place, *, code: int = status.HTTP_200_OK) -> Response:
    body = resources([endpoint_get(name)], place)[0]
    moving = body["properties"]["provisioningState"] == EndpointState.UPDATING
    return Response(body, status=code, headers=SOON if moving else None)


class EndpointsView(ArmView):
    def get(self, request: Request, **_: str) -> Response:
        rows = endpoints_matching(project=self.project()).order_by("name")
        place = self.place
        return listed(request, rows, lambda found: resources(found, place))


class EndpointView(ArmView):
    def get(self, request: Request, endpoint: str, **_: str) -> Response:
        del request
        return answered(endpoint, self.place)

    def put(self, request: Request, endpoint: str, **_: str) -> Response:
        """Made, or made to be this. Limits, which Azure has not, stay."""
        values = checked(
            EndpointPutSerializer, endpoint_values(body_of(request), properties_of(request))
        )
        for limit in LIMITS:
            values.pop(limit, None)
        existing = Endpoint.objects.filter(name=endpoint).first()
        values["project"] = existing.project_name if existing else self.project()
        done = services.endpoint_put(
            name=endpoint, values=values, limits={}, actor=actor(request), now=timezone.now()
        )
        code = status.HTTP_201_CREATED if done.created else status.HTTP_200_OK
        return answered(endpoint, self.place, code=code)

    def patch(self, request: Request, endpoint: str, **_: str) -> Response:
        """Tags, and of the properties what is named of the description and the shares."""
        body = body_of(request)
        given = body.get("properties") or {}
        if not isinstance(given, dict) or (strange := sorted(set(given) - set(CHANGED))):
            told = strange[0] if isinstance(given, dict) else "properties"
            raise AzureInvalid(
                f"{told} is not changed by PATCH; expected {', '.join(CHANGED)}.", field=told
            )
        values: dict[str, Any] = {CHANGED[name]: value for name, value in given.items()}
        if "tags" in body:
            values["tags"] = texts(body["tags"])
        services.endpoint_patch(
            name=endpoint,
            values=checked(EndpointPatchSerializer, values),
            limits={},
            actor=actor(request),
            now=timezone.now(),
        )
        return answered(endpoint, self.place)

    def delete(self, request: Request, endpoint: str, **_: str) -> Response:
        try:
            operation = services.endpoint_delete(
                name=endpoint, actor=actor(request), now=timezone.now()
            )
        except EndpointNotFound:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return accepted(operation, self.place, code=status.HTTP_202_ACCEPTED)


class KeysView(ArmView):
    write_permission = Permission.KEYS

    def post(self, request: Request, endpoint: str, **_: str) -> Response:
        keys = deployments.endpoint_keys_reveal(name=endpoint, actor=actor(request))
        return Response({"primaryKey": keys["primary"], "secondaryKey": keys["secondary"]})


class KeysRegenerateView(ArmView):
    write_permission = Permission.KEYS

    def post(self, request: Request, endpoint: str, **_: str) -> Response:
        """Done once gateways refuse the old one. A key of the caller's choice is not taken."""
        body = body_of(request)
        slot = str(body.get("keyType", "")).lower()
        if slot not in ("primary", "secondary"):
            raise AzureInvalid(
                f"keyType: {slot[:40]!r}, expected Primary or Secondary.", field="keyType"
            )
        deployments.endpoint_key_regenerate(name=endpoint, slot=slot, actor=actor(request))
        until = int(timezone.now().timestamp()) + ROUTED_S
        place = self.place.location_url("mfeOperationResults", f"keys/{endpoint}/{until}")
        return Response(None, status=status.HTTP_202_ACCEPTED, headers={"Location": place, **SOON})


class TokenView(ArmView):
    write_permission = Permission.KEYS

    def post(self, request: Request, endpoint: str, **_: str) -> Response:
        token = deployments.endpoint_token(name=endpoint, actor=actor(request), now=timezone.now())
        return Response(
            {
                "accessToken": token.clear,
                "expiryTimeUtc": int(token.expires_at.timestamp()),
                "refreshAfterTimeUtc": int(token.refresh_after.timestamp()),
                "tokenType": "Bearer",
            }
        )
