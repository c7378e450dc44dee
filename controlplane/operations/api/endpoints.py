"""REST of endpoints: made, said anew, deleted."""

from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.accounts.projects import project_stays
from controlplane.core.etags import IF_MATCH, if_match_check, if_none_match_check
from controlplane.core.filters import PROJECT_PARAMETER, TAG_PARAMETER, ChoicesField, tags_of
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.rehearsal import DRY_RUN, ONLY_ASKED, rehearsable
from controlplane.core.requests import read_body, read_only, read_query
from controlplane.deployments.selectors import endpoint_get, endpoints_matching
from controlplane.deployments.serializers.endpoints import (
    EndpointInputSerializer,
    EndpointPatchSerializer,
    EndpointPutSerializer,
    EndpointSerializer,
)
from controlplane.deployments.services import endpoint_create
from controlplane.deployments.services.endpoints import LIMITS
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.types import EndpointState, ServingState
from controlplane.metrics.selectors import live_now
from controlplane.metrics.serializers import LiveSerializer
from controlplane.operations import selectors, services
from controlplane.operations.api.reading import (
    IF_NONE_MATCH,
    SUPERSEDE,
    accepted,
    endpoint_body,
    endpoint_change,
    endpoint_etag,
    endpoint_last_change,
    endpoint_seen,
)
from controlplane.operations.api.traffic import copies_in_the_way
from controlplane.operations.serializers import OperationSerializer

EndpointItemsSerializer = page_of(EndpointSerializer)
ORDERS = ["name", "-name", "created_at", "-created_at", "updated_at", "-updated_at"]


@extend_schema_serializer(component_name="EndpointPage")
class EndpointPageSerializer(EndpointItemsSerializer):  # type: ignore[misc, valid-type]
    total = serializers.IntegerField(help_text="endpoints that match, on all pages")
    live = serializers.DictField(
        child=LiveSerializer(),
        required=False,
        help_text="by name, where `live=true` asked for it: the last seconds of those on this page",
    )


Shape = type[serializers.Serializer[Any]]


class WithMore:
    more: ClassVar[tuple[str, ...]] = ()  # names of the body that rooms above this one know

    def more_set(self, endpoint: str, more: dict[str, Any], actor: str) -> None:
        """Set what ``more`` has of these names, in the transaction of all the rest."""

    def _more(self, values: dict[str, Any]) -> dict[str, Any]:
        """Taken out of ``values``."""
        return {name: values.pop(name) for name in self.more if name in values}


class EndpointsQuery(PageQuery):
    state = ChoicesField(EndpointState.values)
    serving_state = ChoicesField(ServingState.values)
    live = serializers.BooleanField(default=False)
    created_after = serializers.DateTimeField(required=False, default=None)
    created_before = serializers.DateTimeField(required=False, default=None)
    order_by = serializers.ChoiceField(choices=ORDERS, default="name")
    project = serializers.CharField(required=False, default="", allow_blank=True)


class EndpointsView(WithMore, ProjectAPIView):
    post_shape: ClassVar[Shape] = EndpointInputSerializer

    @extend_schema(
        operation_id="endpoints_list",
        parameters=[
            *(each for each in PAGE_PARAMETERS if each.name != "q"),
            OpenApiParameter(
                "q",
                str,
                description="Only endpoints whose name, description or models' names contain this",
            ),
            OpenApiParameter(
                "state", str, description=f"one or several of {','.join(EndpointState.values)}"
            ),
            OpenApiParameter(
                "serving_state",
                str,
                description=f"one or several of {','.join(ServingState.values)}",
            ),
            OpenApiParameter(
                "live", bool, description="tell rates, latencies and errors of the last seconds too"
            ),
            OpenApiParameter("created_after", datetime),
            OpenApiParameter("created_before", datetime),
            OpenApiParameter("order_by", str, enum=ORDERS, description="default name"),
            TAG_PARAMETER,
            PROJECT_PARAMETER,
        ],
        responses=EndpointPageSerializer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(EndpointsQuery, request)
        rows = endpoints_matching(
            q=query["q"],
            project=query["project"],
            states=query["state"],
            serving_states=query["serving_state"],
            created_after=query["created_after"],
            created_before=query["created_before"],
            tags=tags_of(request),
        )
        page = paginate(
            rows,
            limit=query["limit"],
            cursor=query["cursor"],
            order=list(dict.fromkeys([query["order_by"], "id"])),
        )
        items = selectors.endpoints_shown(page.items)
        body: dict[str, Any] = {
            "items": items,
            "next_cursor": page.next_cursor,
            "total": rows.count(),
        }
        if query["live"]:
            body["live"] = live_now([row.name for row in page.items], timezone.now().timestamp())
        return Response(EndpointPageSerializer(body).data)

    @extend_schema(
        operation_id="endpoints_create",
        parameters=[DRY_RUN],
        request=EndpointInputSerializer,
        responses={**ONLY_ASKED, 201: EndpointSerializer},
    )
    @rehearsable
    def post(self, request: Request) -> Response:
        values = read_body(self.post_shape, request)
        limits, more = _limits(values), self._more(values)
        with transaction.atomic():
            endpoint = endpoint_create(
                **values, limits=limits, actor=actor(request), now=timezone.now()
            )
            self.more_set(endpoint.name, more, actor(request))
        return Response(endpoint_body(endpoint), status=status.HTTP_201_CREATED)


class EndpointView(WithMore, ProjectAPIView):
    put_shape: ClassVar[Shape] = EndpointPutSerializer
    patch_shape: ClassVar[Shape] = EndpointPatchSerializer

    @extend_schema(operation_id="endpoints_get", responses=EndpointSerializer)
    def get(self, request: Request, endpoint: str) -> Response:
        del request
        body = endpoint_body(endpoint_get(endpoint))
        return Response(body, headers={"ETag": endpoint_etag(body)})

    @extend_schema(
        operation_id="endpoints_put",
        parameters=[IF_MATCH, IF_NONE_MATCH, SUPERSEDE, DRY_RUN],
        request=EndpointPutSerializer,
        responses={**ONLY_ASKED, 200: EndpointSerializer, 201: EndpointSerializer},
    )
    @rehearsable
    def put(self, request: Request, endpoint: str) -> Response:
        """Let it be just this, whether it exists or not. What is left out goes to its default;
        shares and objectives that are not named stay, and so do its deployments and keys."""
        values = read_body(
            self.put_shape, request, ignored=self._shown_only(), fixed={"name": endpoint}
        )
        limits, more = _limits(values), self._more(values)
        with transaction.atomic():
            known = endpoint_lock(endpoint) is not None
            tag, seen = endpoint_seen(endpoint) if known else (None, None)
            if_match_check(request, tag, seen, changed=partial(endpoint_last_change, endpoint))
            if_none_match_check(request, tag)
            with endpoint_change(request, endpoint):
                done = services.endpoint_put(
                    name=endpoint,
                    values=values,
                    limits=limits,
                    actor=actor(request),
                    now=timezone.now(),
                )
                self.more_set(endpoint, more, actor(request))
        answer = self.get(request, endpoint)
        answer.status_code = status.HTTP_201_CREATED if done.created else status.HTTP_200_OK
        return answer

    @extend_schema(
        operation_id="endpoints_update",
        parameters=[IF_MATCH, SUPERSEDE, DRY_RUN],
        request=EndpointPatchSerializer,
        responses={**ONLY_ASKED, 200: EndpointSerializer},
    )
    @rehearsable
    def patch(self, request: Request, endpoint: str) -> Response:
        """Change what is named, all of it or, where any of it is refused, nothing. Shares are
        whole maps, as in `PUT`, and objectives the whole list."""
        values = read_body(
            self.patch_shape,
            request,
            ignored=self._shown_only() | {"project"},
            fixed={"name": endpoint},
        )
        project_stays(request.data, lambda: endpoint_get(endpoint).project_name)
        limits, more = _limits(values), self._more(values)
        # words stand in nobody's way
        copies = values.get("mirror_traffic")
        copied = [] if copies is None else copies_in_the_way(endpoint, copies)
        in_the_way = (None,) if "traffic" in values else copied
        with transaction.atomic(), endpoint_change(request, endpoint, in_the_way=in_the_way):
            services.endpoint_patch(
                name=endpoint,
                values=values,
                limits=limits,
                actor=actor(request),
                now=timezone.now(),
            )
            self.more_set(endpoint, more, actor(request))
        return self.get(request, endpoint)

    @extend_schema(
        operation_id="endpoints_delete", request=None, responses={202: OperationSerializer}
    )
    def delete(self, request: Request, endpoint: str) -> Response:
        """Delete it with its deployments; legal in every state, models stay."""
        operation = services.endpoint_delete(
            name=endpoint, actor=actor(request), now=timezone.now()
        )
        return accepted(operation)

    def _shown_only(self) -> frozenset[str]:
        return read_only(EndpointSerializer, self.put_shape) - {"name"}


def _limits(values: dict[str, Any]) -> dict[str, Any]:
    """Taken out of ``values``: null means "no limit" there, and left out "as it is"."""
    return {name: values.pop(name) for name in LIMITS if name in values}
