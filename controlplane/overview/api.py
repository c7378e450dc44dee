"""REST of nodes with what runs on them, and of the overview."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import PEOPLE, Permission
from controlplane.core.etags import IF_MATCH, etag_of, if_match
from controlplane.core.pagination import MAX_LIMIT, PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import flag, read_body, read_only, read_query
from controlplane.deployments.selectors.cache import cache_shown
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import (
    NODE_STATUSES,
    cached_blob_list,
    node_get,
    nodes_matching,
)
from controlplane.nodes.services import node_cordon, node_labels_set
from controlplane.operations import services
from controlplane.overview.selectors import counts_shown, nodes_shown, overview
from controlplane.overview.serializers import (
    CachedBlobSerializer,
    DrainInputSerializer,
    DrainSerializer,
    DrainsInputSerializer,
    NodePatchSerializer,
    NodeSerializer,
    OverviewCountsSerializer,
    OverviewSerializer,
)

NodeItemsSerializer = page_of(NodeSerializer)


@extend_schema_serializer(component_name="NodePage")
class NodePageSerializer(NodeItemsSerializer):  # type: ignore[misc, valid-type]
    total = serializers.IntegerField(help_text="nodes that match, on all pages")


CachedBlobPageSerializer = page_of(CachedBlobSerializer)
SHOWN_ONLY = read_only(NodeSerializer, NodePatchSerializer) - {"name"}


def node_body(node: Node) -> Any:
    return NodeSerializer(nodes_shown([node], timezone.now())[0]).data


def node_etag(body: Any) -> str:
    return etag_of(body["name"], body["labels"], body["cordoned"])


def node_answer(body: Any) -> Response:
    return Response(body, headers={"ETag": node_etag(body)})


class NodesQuery(PageQuery):
    status = serializers.ChoiceField(
        choices=NODE_STATUSES, required=False, default="", allow_blank=True
    )
    names = serializers.CharField(required=False, default="", allow_blank=True)

    def validate_names(self, value: str) -> list[str]:
        names = [name for name in value.split(",") if name]
        if len(names) > MAX_LIMIT:
            raise serializers.ValidationError(f"{len(names)} names, expected at most {MAX_LIMIT}.")
        return names


class NodesView(APIView):
    @extend_schema(
        operation_id="nodes_list",
        parameters=[
            *(each for each in PAGE_PARAMETERS if each.name != "q"),
            OpenApiParameter(
                "q",
                str,
                description="Only nodes whose name, address, label=value or GPUs' names contain "
                "this",
            ),
            OpenApiParameter(
                "status",
                str,
                enum=NODE_STATUSES,
                description="online and open, online and closed to new replicas, or not heard of",
            ),
            OpenApiParameter(
                "names", str, description=f"only these, with commas between; {MAX_LIMIT} at most"
            ),
        ],
        responses=NodePageSerializer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(NodesQuery, request)
        rows = nodes_matching(query["q"], query["status"], query["names"])
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=["name"])
        items = nodes_shown(list(page.items), timezone.now())
        body = {"items": items, "next_cursor": page.next_cursor, "total": rows.count()}
        return Response(NodePageSerializer(body).data)


class NodeView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(operation_id="nodes_get", responses=NodeSerializer)
    def get(self, request: Request, node: str) -> Response:
        del request
        return node_answer(node_body(node_get(node)))

    @extend_schema(
        operation_id="nodes_update",
        parameters=[IF_MATCH],
        request=NodePatchSerializer,
        responses=NodeSerializer,
    )
    def patch(self, request: Request, node: str) -> Response:
        """Its labels, which deployments may ask for."""
        values = read_body(NodePatchSerializer, request, ignored=SHOWN_ONLY, fixed={"name": node})
        with if_match(
            request, Node.objects.filter(name=node), lambda: node_body(node_get(node)), node_etag
        ):
            row = node_labels_set(name=node, labels=values["labels"], actor=actor(request))
        return node_answer(node_body(row))

    @extend_schema(
        operation_id="nodes_delete",
        request=None,
        parameters=[OpenApiParameter("force", bool, description="even if replicas run there")],
        responses={204: None, 409: OpenApiResponse(description="`InUse`")},
    )
    def delete(self, request: Request, node: str) -> Response:
        services.node_delete(
            name=node,
            force=flag(request, "force"),
            actor=actor(request),
            now=timezone.now(),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class NodeCacheView(APIView):
    @extend_schema(
        operation_id="nodes_cache", parameters=PAGE_PARAMETERS, responses=CachedBlobPageSerializer
    )
    def get(self, request: Request, node: str) -> Response:
        """What lies in its cache, the last used first. Sums and quota are in the node's `info`."""
        query = read_query(PageQuery, request)
        page = paginate(
            cached_blob_list(node_get(node)).filter(sha256__startswith=query["q"].lower()),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["-used_at", "sha256"],
        )
        items = cache_shown(list(page.items))
        body = CachedBlobPageSerializer({"items": items, "next_cursor": page.next_cursor})
        return Response(body.data)


class NodeCordonView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(operation_id="nodes_cordon", request=None, responses=NodeSerializer)
    def post(self, request: Request, node: str) -> Response:
        """It keeps what runs there and takes nothing new."""
        return Response(node_body(node_cordon(name=node, cordoned=True, actor=actor(request))))


class NodeUncordonView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(operation_id="nodes_uncordon", request=None, responses=NodeSerializer)
    def post(self, request: Request, node: str) -> Response:
        return Response(node_body(node_cordon(name=node, cordoned=False, actor=actor(request))))


class NodeDrainView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(
        operation_id="nodes_drain",
        request=DrainInputSerializer,
        responses={
            200: OpenApiResponse(DrainSerializer, description="what would happen (`dry_run`)"),
            202: DrainSerializer,
            409: OpenApiResponse(description="`OutOfCapacity` with `stuck`"),
        },
    )
    def post(self, request: Request, node: str) -> Response:
        """Empty it: what runs there answers elsewhere before it goes. Cordons it as well."""
        return _drain(request, [node], read_body(DrainInputSerializer, request))


class DrainsView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(
        operation_id="drains_create",
        request=DrainsInputSerializer,
        responses={
            200: OpenApiResponse(DrainSerializer, description="what would happen (`dry_run`)"),
            202: DrainSerializer,
            409: OpenApiResponse(description="`OutOfCapacity` with `stuck`"),
        },
    )
    def post(self, request: Request) -> Response:
        """Empty several nodes at once, all or none of them."""
        values = read_body(DrainsInputSerializer, request)
        return _drain(request, list(dict.fromkeys(values["nodes"])), values)


def _drain(request: Request, names: list[str], values: dict[str, Any]) -> Response:
    now = timezone.now()
    if values["dry_run"]:
        moves = services.drain_preview(names=names, now=now)
    else:
        moves = services.nodes_drain(
            names=names,
            deadline=timedelta(seconds=values["deadline_s"]),
            force=values["force"],
            actor=actor(request),
            now=now,
        )
    code = status.HTTP_200_OK if values["dry_run"] else status.HTTP_202_ACCEPTED
    return Response(DrainSerializer({"dry_run": values["dry_run"], "moves": moves}).data, code)


class OverviewView(APIView):
    @extend_schema(operation_id="overview_get", responses=OverviewSerializer)
    def get(self, request: Request) -> Response:
        shown = overview(timezone.now(), people=may(request, PEOPLE))
        return Response(OverviewSerializer(shown).data)


class OverviewCountsView(APIView):
    @extend_schema(operation_id="overview_counts", responses=OverviewCountsSerializer)
    def get(self, request: Request) -> Response:
        """A small part of the overview, for who shows it all the time."""
        del request
        return Response(OverviewCountsSerializer(counts_shown()).data)
