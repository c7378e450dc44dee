"""What the views share: the caller's name, answers, and what the caller has seen."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.core.etags import etag_of, if_match_check
from controlplane.deployments.models import Endpoint, Operation
from controlplane.deployments.selectors import (
    deployment_get,
    endpoint_get,
    endpoints_shown,
    operation_shown,
)
from controlplane.deployments.selectors.shown import deployment_shown
from controlplane.deployments.serializers.endpoints import EndpointSerializer
from controlplane.deployments.serializers.operations import OperationSerializer
from controlplane.deployments.services.starting import locked

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="the `ETag` that you have seen; 412 `PreconditionFailed` when it has changed",
)


def actor(request: Request) -> str:
    return request.user.get_username()


def endpoint_body(endpoint: Endpoint) -> Any:
    return EndpointSerializer(endpoints_shown([endpoint])[0]).data


def operation_body(operation: Operation) -> Any:
    return OperationSerializer(operation_shown(operation)).data


def accepted(operation: Operation) -> Response:
    """202, and where to watch: in our words and in Azure's."""
    place = f"/api/v1/operations/{operation.id}"
    return Response(
        operation_body(operation),
        status=status.HTTP_202_ACCEPTED,
        headers={"Operation-Location": place, "Azure-AsyncOperation": place, "Retry-After": "1"},
    )


ENDPOINT_TAG = (
    "description", "tags", "declared", "auth_mode", "traffic", "mirror_traffic",
    "cors_origins", "max_request_bytes", "rate_limit",
)  # fmt: skip
DEPLOYMENT_TAG = (
    "description", "tags", "declared", "instance_count", "request_timeout_ms", "retries",
    "max_concurrent_requests_per_instance",
    "environment", "secret_environment", "revision", "config_revision", "model", "version",
)  # fmt: skip


def endpoint_etag(body: Any) -> str:
    return etag_of(body["name"], *(body[name] for name in ENDPOINT_TAG))


def deployment_etag(body: Any) -> str:
    return etag_of(body["endpoint"], body["name"], *(body[name] for name in DEPLOYMENT_TAG))


@contextmanager
def endpoint_unchanged(request: Request, name: str) -> Iterator[None]:
    """What is done inside happens to the endpoint that the caller has seen, or not at all."""
    if "If-Match" not in request.headers:
        yield
        return
    with transaction.atomic():
        locked(name)
        if_match_check(request, endpoint_etag(endpoint_body(endpoint_get(name))))
        yield


@contextmanager
def deployment_unchanged(request: Request, endpoint: str, name: str) -> Iterator[None]:
    """The same for a deployment."""
    if "If-Match" not in request.headers:
        yield
        return
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        if_match_check(request, deployment_etag(deployment_shown(row, row.endpoint, {})))
        yield
