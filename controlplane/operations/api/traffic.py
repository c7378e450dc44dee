"""REST of what share of an endpoint's requests goes where: live and mirrored."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.etags import IF_MATCH
from controlplane.core.requests import read_body
from controlplane.deployments import selectors
from controlplane.deployments.models import Endpoint
from controlplane.deployments.serializers.endpoints import (
    EndpointSerializer,
    MirrorInputSerializer,
    TrafficAnswerSerializer,
    TrafficInputSerializer,
    TrafficSerializer,
)
from controlplane.deployments.traffic import moved_percent
from controlplane.operations import selectors as operation_selectors
from controlplane.operations import services
from controlplane.operations.api.reading import (
    SUPERSEDE,
    endpoint_body,
    endpoint_change,
    endpoint_etag,
)


def changed(
    request: Request,
    endpoint: str,
    change: Callable[[], Endpoint],
    *,
    in_the_way: Collection[str | None] = (None,),
) -> Response:
    """The endpoint after ``change``, which happens to what the caller has seen or not at all."""
    with endpoint_change(request, endpoint, in_the_way=in_the_way):
        row = change()
    body = endpoint_body(row)
    return Response(body, headers={"ETag": endpoint_etag(body)})


def moving(
    request: Request, endpoint: str, wanted: Mapping[str, Any], change: Callable[[], Endpoint]
) -> Response:
    """The same, with how much of the traffic moved. Rules alone stand in nobody's way."""
    before: dict[str, int] = {}

    def noted() -> Endpoint:
        before.update(selectors.endpoint_get(endpoint).traffic)
        return change()

    in_the_way = (None,) if "traffic" in wanted else ()
    answer = changed(request, endpoint, noted, in_the_way=in_the_way)
    answer.data = {
        **answer.data,
        "moved_percent": moved_percent(before, answer.data["traffic"]),
    }
    return answer


@transaction.atomic
def set_traffic(request: Request, endpoint: str, wanted: Mapping[str, Any]) -> Endpoint:
    """All that is named, or nothing: rules and what clients are told apart by, then the shares."""
    values = dict(wanted)
    traffic = values.pop("traffic", None)
    limits = {"sticky": values.pop("sticky")} if "sticky" in values else {}
    by, now = actor(request), timezone.now()
    if values or limits:
        services.endpoint_patch(name=endpoint, values=values, limits=limits, actor=by, now=now)
    if traffic is None:
        return selectors.endpoint_get(endpoint)
    return services.traffic_set(name=endpoint, traffic=traffic, actor=by, now=now)


def set_mirror(request: Request, endpoint: str, mirror: dict[str, int]) -> Endpoint:
    return services.mirror_set(
        name=endpoint, mirror_traffic=mirror, actor=actor(request), now=timezone.now()
    )


def copies_in_the_way(endpoint: str, mirror: Mapping[str, int]) -> list[str | None]:
    """What ``?supersede=true`` ends: what is about to give traffic to who shall get copies, and a
    rollout that sends some."""
    rolling: list[str | None] = [None] if operation_selectors.copies_roll(endpoint) else []
    return rolling + [name for name, percent in mirror.items() if percent]


class TrafficView(ProjectAPIView):
    @extend_schema(operation_id="endpoints_traffic_get", responses=TrafficSerializer)
    def get(self, request: Request, endpoint: str) -> Response:
        del request
        row = selectors.endpoint_get(endpoint)
        tag = endpoint_etag(endpoint_body(row))
        return Response(TrafficSerializer(row).data, headers={"ETag": tag})

    @extend_schema(
        operation_id="endpoints_traffic_set",
        parameters=[IF_MATCH, SUPERSEDE],
        request=TrafficInputSerializer,
        responses=TrafficAnswerSerializer,
    )
    def put(self, request: Request, endpoint: str) -> Response:
        """Replace what is named as a whole: the shares, which add up to 100, or to 0 to answer
        nobody; the rules; what clients are told apart by.

        The answer says how much moved; `routed` whether gateways have confirmed it already.
        """
        wanted = read_body(TrafficInputSerializer, request)
        return moving(request, endpoint, wanted, lambda: set_traffic(request, endpoint, wanted))

    @extend_schema(
        operation_id="endpoints_traffic_update",
        parameters=[IF_MATCH, SUPERSEDE],
        request=TrafficInputSerializer,
        responses=TrafficAnswerSerializer,
    )
    def patch(self, request: Request, endpoint: str) -> Response:
        """Change the shares that are named, leave the others; the sum must again be 100, or 0.
        Rules are a whole list here, too."""
        wanted = read_body(TrafficInputSerializer, request)

        def merge() -> Endpoint:
            if "traffic" in wanted:
                before: dict[str, Any] = selectors.endpoint_get(endpoint).traffic
                wanted["traffic"] = {**before, **wanted["traffic"]}
            return set_traffic(request, endpoint, wanted)

        return moving(request, endpoint, wanted, merge)


MIRRORED = {
    200: EndpointSerializer,
    409: OpenApiResponse(
        description="`OperationInProgress` with the `operation` that is about to give "
        "traffic to the deployment that shall get copies, `RolloutInProgress`: a rollout sends some"
    ),
}


class MirrorView(ProjectAPIView):
    @extend_schema(operation_id="endpoints_mirror_get", responses=MirrorInputSerializer)
    def get(self, request: Request, endpoint: str) -> Response:
        del request
        row = selectors.endpoint_get(endpoint)
        tag = endpoint_etag(endpoint_body(row))
        return Response({"mirror_traffic": row.mirror_traffic}, headers={"ETag": tag})

    @extend_schema(
        operation_id="endpoints_mirror_set",
        parameters=[IF_MATCH, SUPERSEDE],
        request=MirrorInputSerializer,
        responses=MIRRORED,
    )
    def put(self, request: Request, endpoint: str) -> Response:
        """Replace the map; the copies' answers are thrown away."""
        wanted = read_body(MirrorInputSerializer, request)["mirror_traffic"]
        return changed(
            request,
            endpoint,
            lambda: set_mirror(request, endpoint, wanted),
            in_the_way=copies_in_the_way(endpoint, wanted),
        )

    @extend_schema(
        operation_id="endpoints_mirror_update",
        parameters=[IF_MATCH, SUPERSEDE],
        request=MirrorInputSerializer,
        responses=MIRRORED,
    )
    def patch(self, request: Request, endpoint: str) -> Response:
        """Change the shares that are named, 0 ends one; one deployment at most remains."""
        wanted = read_body(MirrorInputSerializer, request)["mirror_traffic"]

        def merge() -> Endpoint:
            before: dict[str, Any] = selectors.endpoint_get(endpoint).mirror_traffic
            return set_mirror(request, endpoint, {**before, **wanted})

        return changed(request, endpoint, merge, in_the_way=copies_in_the_way(endpoint, wanted))
