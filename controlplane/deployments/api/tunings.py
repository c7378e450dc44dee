"""REST of tunings, but for what begins one: that may be asked for with a saved case."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_query
from controlplane.core.waiting import WAIT, or_wait
from controlplane.deployments.models import Tuning
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.tunings import (
    summary_shown,
    tuning_get,
    tuning_list,
    tuning_shown,
    tuning_state,
)
from controlplane.deployments.serializers.tunings import (
    TuningApplyInputSerializer,
    TuningRowSerializer,
    TuningSerializer,
)
from controlplane.deployments.services.tuned import tuning_apply
from controlplane.deployments.services.tunings import tuning_cancel
from controlplane.deployments.types import TUNING_ACTIVE
from controlplane.tuning.space import Setting

TuningPageSerializer = page_of(TuningRowSerializer)


def begun(row: Tuning) -> Response:
    return Response(
        TuningSerializer(tuning_shown(row)).data,
        status=status.HTTP_202_ACCEPTED,
        headers={"Location": f"/api/v1/tunings/{row.pk}", "Retry-After": "1"},
    )


class TuningsView(ProjectAPIView):
    @extend_schema(
        operation_id="tunings_list", parameters=PAGE_PARAMETERS, responses=TuningPageSerializer
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Of a deployment, without their runs, the newest first."""
        query = read_query(PageQuery, request)
        rows = tuning_list().filter(deployment=deployment_get(endpoint, deployment))
        if query["q"]:
            rows = rows.filter(model__icontains=query["q"])
        page = paginate(
            rows, limit=query["limit"], cursor=query["cursor"], order=["-created_at", "-id"]
        )
        body = {
            "items": [summary_shown(row) for row in page.items],
            "next_cursor": page.next_cursor,
        }
        return Response(TuningPageSerializer(body).data)


class TuningView(ProjectAPIView):
    @extend_schema(operation_id="tunings_get", parameters=[WAIT], responses=TuningSerializer)
    def get(self, request: Request, tuning_id: str) -> Response:
        """What was measured so far, which of it nothing beats, and the one to take."""
        del request
        return Response(TuningSerializer(tuning_shown(tuning_get(tuning_id))).data)


class TuningCancelView(ProjectAPIView):
    @extend_schema(
        operation_id="tunings_cancel",
        request=None,
        responses={
            200: TuningSerializer,
            409: OpenApiResponse(description="`OperationFinished`"),
        },
    )
    def post(self, request: Request, tuning_id: str) -> Response:
        """What was measured until then is kept."""
        row = tuning_cancel(tuning_id=tuning_id, actor=actor(request), now=timezone.now())
        return Response(TuningSerializer(tuning_shown(row)).data)


class TuningApplyView(ProjectAPIView):
    @extend_schema(
        operation_id="tunings_apply",
        request=TuningApplyInputSerializer,
        responses={
            200: TuningSerializer,
            409: OpenApiResponse(description="`NothingToApply`"),
        },
    )
    def post(self, request: Request, tuning_id: str) -> Response:
        """Save the chosen configuration as a revision of the model's. What runs takes it by the
        next update of the deployment: `PATCH` it with `config_revision`."""
        asked = read_body(TuningApplyInputSerializer, request)["setting"]
        setting = Setting(**asked) if asked else None
        row = tuning_apply(tuning_id=tuning_id, setting=setting, actor=actor(request))
        return Response(TuningSerializer(tuning_shown(row)).data)


tuning_or_wait = or_wait(TuningView, key="tuning_id", state=tuning_state, active=TUNING_ACTIVE)
