"""REST of rollouts: an endpoint's traffic on its way to a candidate, and its judgement."""

from collections.abc import Callable

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_query
from controlplane.deployments.selectors import endpoint_get
from controlplane.operations import selectors, services
from controlplane.operations.models import Rollout
from controlplane.operations.rollout_serializers import RolloutSerializer

RolloutPageSerializer = page_of(RolloutSerializer)


def shown(row: Rollout, code: int = status.HTTP_200_OK) -> Response:
    return Response(RolloutSerializer(selectors.rollout_shown(row)).data, status=code)


class RolloutsView(ProjectAPIView):
    """Of ``controlplane.golden``, which starts them, too: it asks the candidate first."""

    @extend_schema(
        operation_id="rollouts_list", parameters=PAGE_PARAMETERS, responses=RolloutPageSerializer
    )
    def get(self, request: Request, endpoint: str) -> Response:
        """The newest first; one at most is under way."""
        query = read_query(PageQuery, request)
        rows = selectors.rollout_list(endpoint_get(endpoint).name)
        if query["q"]:
            rows = rows.filter(candidate__icontains=query["q"])
        page = paginate(
            rows, limit=query["limit"], cursor=query["cursor"], order=["-created_at", "-id"]
        )
        items = [selectors.rollout_shown(row) for row in page.items]
        body = {"items": items, "next_cursor": page.next_cursor}
        return Response(RolloutPageSerializer(body).data)


class RolloutView(ProjectAPIView):
    @extend_schema(operation_id="rollouts_get", responses=RolloutSerializer)
    def get(self, request: Request, endpoint: str, rollout_id: str) -> Response:
        """Its steps, both versions' figures, and what it waits for."""
        del request
        return shown(selectors.rollout_get(endpoint, rollout_id))


def done(
    request: Request, endpoint: str, rollout_id: str, service: Callable[..., Rollout]
) -> Response:
    row = service(
        endpoint=endpoint, rollout_id=rollout_id, actor=actor(request), now=timezone.now()
    )
    return shown(row)


ENDED = {
    200: RolloutSerializer,
    409: OpenApiResponse(description="`RolloutFinished`: it has ended already"),
}


class RolloutPauseView(ProjectAPIView):
    @extend_schema(operation_id="rollouts_pause", request=None, responses=ENDED)
    def post(self, request: Request, endpoint: str, rollout_id: str) -> Response:
        """No next step until it is resumed. Guardrails go on, and may withdraw it."""
        return done(request, endpoint, rollout_id, services.rollout_pause)


class RolloutResumeView(ProjectAPIView):
    @extend_schema(operation_id="rollouts_resume", request=None, responses=ENDED)
    def post(self, request: Request, endpoint: str, rollout_id: str) -> Response:
        return done(request, endpoint, rollout_id, services.rollout_resume)


class RolloutPromoteView(ProjectAPIView):
    @extend_schema(operation_id="rollouts_promote", request=None, responses=ENDED)
    def post(self, request: Request, endpoint: str, rollout_id: str) -> Response:
        """All of the traffic to the candidate now, whatever the steps."""
        return done(request, endpoint, rollout_id, services.rollout_promote)


class RolloutAbortView(ProjectAPIView):
    @extend_schema(operation_id="rollouts_abort", request=None, responses=ENDED)
    def post(self, request: Request, endpoint: str, rollout_id: str) -> Response:
        """The traffic goes back to what it was."""
        return done(request, endpoint, rollout_id, services.rollout_abort)
