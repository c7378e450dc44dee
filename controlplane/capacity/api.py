"""REST of capacity: what runs where, headroom, waste, cost, and what a node's loss would do."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.capacity.models import THE_ONE, Prices
from controlplane.capacity.selectors import deployment_rows, fleet_now
from controlplane.capacity.serializers import (
    CapacitySerializer,
    DeploymentPageSerializer,
    NodePageSerializer,
    PricesInputSerializer,
    PricesSerializer,
    RoomSerializer,
    WasteSerializer,
    WhatIfQuery,
    WhatIfSerializer,
)
from controlplane.capacity.services import prices_set, told
from controlplane.capacity.shown import (
    deployments_shown,
    glance,
    loss_shown,
    node_shown,
    room_shown,
    waste_shown,
)
from controlplane.capacity.use import node_uses, place_of
from controlplane.core.etags import IF_MATCH, etag_of, if_match
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, paginate, paginate_values
from controlplane.core.requests import read_body, read_query
from controlplane.nodes.selectors import node_get


class CapacityView(ProjectAPIView):
    @extend_schema(operation_id="capacity_get", responses=CapacitySerializer)
    def get(self, request: Request) -> Response:
        """What all nodes have, what of it is promised and used, and what projects cost."""
        del request
        return Response(CapacitySerializer(glance(timezone.now())).data)


class NodesView(APIView):
    @extend_schema(
        operation_id="capacity_nodes", parameters=PAGE_PARAMETERS, responses=NodePageSerializer
    )
    def get(self, request: Request) -> Response:
        """Every node with what of it is promised, used and idle; the idlest first."""
        query = read_query(PageQuery, request)
        fleet = fleet_now(timezone.now())
        wanted = query["q"].lower()
        uses = node_uses(fleet.nodes, fleet.replicas)
        rows = [one for one in uses if wanted in one.node.name.lower()]
        page = paginate_values(rows, limit=query["limit"], cursor=query["cursor"], key=place_of)
        items = [node_shown(one, fleet) for one in page.items]
        body = {"items": items, "next_cursor": page.next_cursor, "total": len(rows)}
        return Response(NodePageSerializer(body).data)


class DeploymentsView(ProjectAPIView):
    @extend_schema(
        operation_id="capacity_deployments",
        parameters=PAGE_PARAMETERS,
        responses=DeploymentPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """Every deployment with its busiest hour of the last day, its headroom and its cost."""
        query = read_query(PageQuery, request)
        rows = deployment_rows(query["q"])
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=["title"])
        items = deployments_shown(list(page.items), timezone.now())
        body = DeploymentPageSerializer({"items": items, "next_cursor": page.next_cursor})
        return Response(body.data)


class WasteView(ProjectAPIView):
    @extend_schema(operation_id="capacity_waste", responses=WasteSerializer)
    def get(self, request: Request) -> Response:
        """What is promised and hardly used, with what to do. Of nodes only for who sees all
        projects."""
        del request
        return Response(WasteSerializer(waste_shown(timezone.now())).data)


class WhatIfView(APIView):
    @extend_schema(
        operation_id="capacity_what_if",
        parameters=[WhatIfQuery],
        responses={200: WhatIfSerializer, 404: OpenApiResponse(description="`NodeNotFound`")},
    )
    def get(self, request: Request) -> Response:
        """What would become of everything if these nodes were lost at once. Nothing is changed."""
        names = read_query(WhatIfQuery, request)["lost"]
        lost = {node_get(name).pk: name for name in dict.fromkeys(names)}
        found = loss_shown(lost, timezone.now())
        body: Mapping[str, Any] = {
            "lost": list(lost.values()),
            "replicas": found.replicas,
            "deployments": found.deployments,
            "endpoints": found.endpoints,
        }
        return Response(WhatIfSerializer(body).data)


class RoomView(ProjectAPIView):
    @extend_schema(operation_id="deployments_room", responses=RoomSerializer)
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """How many more replicas of it would find a place now, and where."""
        del request
        return Response(RoomSerializer(room_shown(endpoint, deployment, timezone.now())).data)


def prices_body() -> Any:
    row = Prices.objects.filter(pk=THE_ONE).first() or Prices()
    return PricesSerializer(told(row)).data


def prices_etag(body: Any) -> str:
    return etag_of(*(body[name] for name in PricesSerializer().fields))


def prices_answer() -> Response:
    body = prices_body()
    return Response(body, headers={"ETag": prices_etag(body)})


class PricesView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="prices_get", responses=PricesSerializer)
    def get(self, request: Request) -> Response:
        """What an hour of an instance type or of a node costs."""
        del request
        return prices_answer()

    @extend_schema(
        operation_id="prices_set",
        parameters=[IF_MATCH],
        request=PricesInputSerializer,
        responses=PricesSerializer,
    )
    def put(self, request: Request) -> Response:
        """All of them at once: what is left out has no price any more."""
        values = read_body(PricesInputSerializer, request)
        row = Prices.objects.filter(pk=THE_ONE)
        with if_match(request, row, prices_body, prices_etag):
            prices_set(**values, actor=actor(request))
        return prices_answer()
