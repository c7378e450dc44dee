"""REST of what a node does once, as far as trials, load sweeps and tunings have it alike."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.core import waiting
from controlplane.core.pagination import PageQuery, paginate
from controlplane.core.requests import read_query
from controlplane.deployments.models import Run
from controlplane.deployments.selectors.runs import run_state
from controlplane.deployments.types import RUN_ACTIVE

RunT = TypeVar("RunT", bound=Run)
Shape = type[serializers.Serializer[Any]]


def begun(body: Mapping[str, Any], place: str) -> Response:
    """``place``: the path of its kind."""
    return Response(
        body,
        status=status.HTTP_202_ACCEPTED,
        headers={"Location": f"/api/v1/{place}/{body['id']}", "Retry-After": "1"},
    )


def newest_first(
    request: Request,
    rows: QuerySet[RunT],
    shown: Callable[[RunT], dict[str, Any]],
    page: Shape,
    *,
    q: str,
) -> Response:
    """A page of them. ``q``: the field that `?q=` looks into."""
    query = read_query(PageQuery, request)
    if query["q"]:
        rows = rows.filter(**{f"{q}__icontains": query["q"]})
    found = paginate(
        rows, limit=query["limit"], cursor=query["cursor"], order=["-created_at", "-id"]
    )
    items = [shown(row) for row in found.items]
    return Response(page({"items": items, "next_cursor": found.next_cursor}).data)


def cancelling(shape: Shape) -> dict[int, Any]:
    """The answers to it, for the OpenAPI document."""
    return {200: shape, 409: OpenApiResponse(description="`OperationFinished`")}


def or_wait(view: type[APIView], model: type[Run], *, key: str) -> Any:
    """``view`` of one of them, which waits for its end with ``?wait=``."""
    return waiting.or_wait(view, key=key, state=run_state(model), active=RUN_ACTIVE)
