"""REST of tunings, but for what begins one: that may be asked for with a saved case."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, page_of
from controlplane.core.requests import read_body
from controlplane.core.waiting import WAIT
from controlplane.deployments.api import runs
from controlplane.deployments.models import Tuning
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.tunings import (
    summary_shown,
    tuning_get,
    tuning_list,
    tuning_shown,
)
from controlplane.deployments.serializers.tunings import (
    TuningApplyInputSerializer,
    TuningRowSerializer,
    TuningSerializer,
)
from controlplane.deployments.services.tuned import tuning_apply
from controlplane.deployments.services.tunings import tuning_cancel
from controlplane.tuning.space import Setting

TuningPageSerializer = page_of(TuningRowSerializer)


def begun(row: Tuning) -> Response:
    return runs.begun(TuningSerializer(tuning_shown(row)).data, "tunings")


class TuningsView(ProjectAPIView):
    @extend_schema(
        operation_id="tunings_list", parameters=PAGE_PARAMETERS, responses=TuningPageSerializer
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Of a deployment, without their runs, the newest first."""
        rows = tuning_list().filter(deployment=deployment_get(endpoint, deployment))
        return runs.newest_first(request, rows, summary_shown, TuningPageSerializer, q="model")


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
        responses=runs.cancelling(TuningSerializer),
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


tuning_or_wait = runs.or_wait(TuningView, Tuning, key="tuning_id")
