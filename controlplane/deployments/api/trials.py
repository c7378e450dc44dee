"""REST of trials: does it load on a node, and with which configuration?"""

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, page_of
from controlplane.core.requests import read_body
from controlplane.core.waiting import WAIT
from controlplane.deployments import services
from controlplane.deployments.api.runs import begun, cancelling, newest_first, or_wait
from controlplane.deployments.models import TryLoad
from controlplane.deployments.selectors.trials import trial_get, trial_list, trial_shown
from controlplane.deployments.serializers.trials import TryLoadInputSerializer, TryLoadSerializer

TryLoadPageSerializer = page_of(TryLoadSerializer)


class TryLoadsView(ProjectAPIView):
    @extend_schema(
        operation_id="try_loads_list",
        parameters=[
            *PAGE_PARAMETERS,
            OpenApiParameter("model", str, description="only those of this model"),
        ],
        responses=TryLoadPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """The newest first; they are kept for a day."""
        rows = trial_list()
        if model := request.query_params.get("model", ""):
            rows = rows.filter(model_version__model__name=model)
        q = "model_version__model__name"
        return newest_first(request, rows, trial_shown, TryLoadPageSerializer, q=q)

    @extend_schema(
        operation_id="try_loads_create",
        request=TryLoadInputSerializer,
        responses={
            202: TryLoadSerializer,
            403: OpenApiResponse(description="`CodeNotAllowed`"),
            409: OpenApiResponse(description="`OutOfCapacity`, `TooManyTrials`, `CodeNotApproved`"),
        },
    )
    def post(self, request: Request) -> Response:
        """Load it on a node and unload it again. Nothing that serves is touched."""
        values = read_body(TryLoadInputSerializer, request)
        only_approved = values.pop("only_approved")
        row = services.trial_start(
            **values,
            actor=actor(request),
            now=timezone.now(),
            may_run_code=not only_approved and may(request, Permission.CODE),
        )
        return begun(TryLoadSerializer(trial_shown(row)).data, "try-loads")


class TryLoadView(ProjectAPIView):
    @extend_schema(operation_id="try_loads_get", parameters=[WAIT], responses=TryLoadSerializer)
    def get(self, request: Request, try_load_id: str) -> Response:
        """How far it is; once it has ended, the effective configurations or the reason."""
        del request
        return Response(TryLoadSerializer(trial_shown(trial_get(try_load_id))).data)


class TryLoadCancelView(ProjectAPIView):
    @extend_schema(
        operation_id="try_loads_cancel",
        request=None,
        responses=cancelling(TryLoadSerializer),
    )
    def post(self, request: Request, try_load_id: str) -> Response:
        row = services.trial_cancel(trial_id=try_load_id, actor=actor(request), now=timezone.now())
        return Response(TryLoadSerializer(trial_shown(row)).data)


try_load_or_wait = or_wait(TryLoadView, TryLoad, key="try_load_id")
