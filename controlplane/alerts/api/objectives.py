"""REST of an endpoint's objectives: what is promised, and what is left of the error budget."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.alerts.models import ObjectiveRow
from controlplane.alerts.selectors import objectives as selectors
from controlplane.alerts.serializers.objectives import (
    ObjectiveHistorySerializer,
    ObjectiveInputSerializer,
    ObjectiveListSerializer,
    ObjectiveSerializer,
)
from controlplane.alerts.services import objectives as services
from controlplane.core.etags import IF_MATCH
from controlplane.core.requests import read_body, read_only
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import endpoint_get
from controlplane.operations.api.reading import endpoint_change

SHOWN_ONLY = read_only(ObjectiveSerializer, ObjectiveInputSerializer) - {"name", "endpoint"}


def shown(endpoint: Endpoint, row: ObjectiveRow, code: int = status.HTTP_200_OK) -> Response:
    found = selectors.objectives_shown(endpoint, [row], timezone.now())
    return Response(ObjectiveSerializer(found[0]).data, status=code)


class ObjectivesView(ProjectAPIView):
    @extend_schema(operation_id="objectives_list", responses=ObjectiveListSerializer)
    def get(self, request: Request, endpoint: str) -> Response:
        """All of an endpoint, by name, each with what is left of its error budget."""
        del request
        of = endpoint_get(endpoint)
        rows = list(selectors.objective_list(of))
        items = selectors.objectives_shown(of, rows, timezone.now())
        return Response(ObjectiveListSerializer({"items": items}).data)


class ObjectiveView(ProjectAPIView):
    @extend_schema(operation_id="objectives_get", responses=ObjectiveSerializer)
    def get(self, request: Request, endpoint: str, objective: str) -> Response:
        del request
        of = endpoint_get(endpoint)
        return shown(of, selectors.objective_get(of, objective))

    @extend_schema(
        operation_id="objectives_set",
        parameters=[IF_MATCH],
        request=ObjectiveInputSerializer,
        responses={200: ObjectiveSerializer, 201: ObjectiveSerializer},
    )
    def put(self, request: Request, endpoint: str, objective: str) -> Response:
        """Make it, or make it anew: what is left out has its default. The past counts at once.

        `If-Match` takes the `etag` of the endpoint, which stands for its objectives, too.
        """
        values = read_body(
            ObjectiveInputSerializer,
            request,
            ignored=SHOWN_ONLY,
            fixed={"name": objective, "endpoint": endpoint},
        )
        with endpoint_change(request, endpoint, in_the_way=()):
            row, created = services.objective_set(
                endpoint=endpoint, name=objective, actor=actor(request), **values
            )
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return shown(endpoint_get(endpoint), row, code)

    @extend_schema(
        operation_id="objectives_delete",
        parameters=[IF_MATCH],
        responses={204: OpenApiResponse(description="it is gone; an alert of it is resolved")},
    )
    def delete(self, request: Request, endpoint: str, objective: str) -> Response:
        """`If-Match` takes the `etag` of the endpoint."""
        with endpoint_change(request, endpoint, in_the_way=()):
            services.objective_delete(endpoint=endpoint, name=objective, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ObjectiveHistoryView(ProjectAPIView):
    @extend_schema(operation_id="objectives_history", responses=ObjectiveHistorySerializer)
    def get(self, request: Request, endpoint: str, objective: str) -> Response:
        """Its window in buckets: requests, bad ones, and what was left of the budget."""
        del request
        of = endpoint_get(endpoint)
        row = selectors.objective_get(of, objective)
        step_s, points = selectors.objective_history(of, row, timezone.now())
        body = {"step_s": step_s, "points": points}
        return Response(ObjectiveHistorySerializer(body).data)
