"""What the views share: the caller's name, and a checked form."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from controlplane.deployments.models import Endpoint, Operation
from controlplane.deployments.selectors import endpoints_shown, operation_shown
from controlplane.deployments.serializers.endpoints import EndpointSerializer
from controlplane.deployments.serializers.operations import OperationSerializer


def actor(request: Request) -> str:
    return request.user.get_username()


def form(kind: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """The validated data. Raises DRF's ValidationError."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def endpoint_body(endpoint: Endpoint) -> Any:
    return EndpointSerializer(endpoints_shown([endpoint])[0]).data


def operation_body(operation: Operation) -> Any:
    return OperationSerializer(operation_shown(operation)).data
