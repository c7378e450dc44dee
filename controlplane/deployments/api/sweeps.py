"""REST of load sweeps, but for what begins one: that may be asked for with a saved case."""

import csv
import io

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_query
from controlplane.core.waiting import WAIT, or_wait
from controlplane.deployments.models import LoadSweep
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.sweeps import (
    summary_shown,
    sweep_csv,
    sweep_get,
    sweep_list,
    sweep_shown,
    sweep_state,
)
from controlplane.deployments.serializers.sweeps import SweepRowSerializer, SweepSerializer
from controlplane.deployments.services.sweeps import sweep_cancel
from controlplane.deployments.types import SWEEP_ACTIVE

SweepPageSerializer = page_of(SweepRowSerializer)


def begun(row: LoadSweep) -> Response:
    return Response(
        SweepSerializer(sweep_shown(row)).data,
        status=status.HTTP_202_ACCEPTED,
        headers={"Location": f"/api/v1/sweeps/{row.pk}", "Retry-After": "1"},
    )


class SweepsView(ProjectAPIView):
    @extend_schema(
        operation_id="sweeps_list", parameters=PAGE_PARAMETERS, responses=SweepPageSerializer
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Of a deployment, without their points, the newest first."""
        query = read_query(PageQuery, request)
        rows = sweep_list().filter(deployment=deployment_get(endpoint, deployment))
        if query["q"]:
            rows = rows.filter(created_by__icontains=query["q"])
        page = paginate(
            rows, limit=query["limit"], cursor=query["cursor"], order=["-created_at", "-id"]
        )
        body = {
            "items": [summary_shown(row) for row in page.items],
            "next_cursor": page.next_cursor,
        }
        return Response(SweepPageSerializer(body).data)


class SweepView(ProjectAPIView):
    @extend_schema(operation_id="sweeps_get", parameters=[WAIT], responses=SweepSerializer)
    def get(self, request: Request, sweep_id: str) -> Response:
        """What was measured so far, its knee, and what it reaches within its objective."""
        del request
        return Response(SweepSerializer(sweep_shown(sweep_get(sweep_id))).data)


class SweepCancelView(ProjectAPIView):
    @extend_schema(
        operation_id="sweeps_cancel",
        request=None,
        responses={
            200: SweepSerializer,
            409: OpenApiResponse(description="`OperationFinished`"),
        },
    )
    def post(self, request: Request, sweep_id: str) -> Response:
        """What was measured until then is kept."""
        row = sweep_cancel(sweep_id=sweep_id, actor=actor(request), now=timezone.now())
        return Response(SweepSerializer(sweep_shown(row)).data)


class SweepCsvView(ProjectAPIView):
    @extend_schema(operation_id="sweeps_csv", responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, sweep_id: str) -> HttpResponse:
        """A line for each point."""
        del request
        row = sweep_get(sweep_id)
        stream = io.StringIO()
        csv.writer(stream).writerows(sweep_csv(row))
        response = HttpResponse(stream.getvalue(), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="sweep-{row.pk}.csv"'
        return response


sweep_or_wait = or_wait(SweepView, key="sweep_id", state=sweep_state, active=SWEEP_ACTIVE)
