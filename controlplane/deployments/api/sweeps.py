"""REST of load sweeps, but for what begins one: that may be asked for with a saved case."""

import csv
import io

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, page_of
from controlplane.core.waiting import WAIT
from controlplane.deployments.api import runs
from controlplane.deployments.models import LoadSweep
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.sweeps import (
    summary_shown,
    sweep_csv,
    sweep_get,
    sweep_list,
    sweep_shown,
)
from controlplane.deployments.serializers.sweeps import SweepRowSerializer, SweepSerializer
from controlplane.deployments.services.sweeps import sweep_cancel

SweepPageSerializer = page_of(SweepRowSerializer)


def begun(row: LoadSweep) -> Response:
    return runs.begun(SweepSerializer(sweep_shown(row)).data, "sweeps")


class SweepsView(ProjectAPIView):
    @extend_schema(
        operation_id="sweeps_list", parameters=PAGE_PARAMETERS, responses=SweepPageSerializer
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Of a deployment, without their points, the newest first."""
        rows = sweep_list().filter(deployment=deployment_get(endpoint, deployment))
        return runs.newest_first(request, rows, summary_shown, SweepPageSerializer, q="created_by")


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
        responses=runs.cancelling(SweepSerializer),
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


sweep_or_wait = runs.or_wait(SweepView, LoadSweep, key="sweep_id")
