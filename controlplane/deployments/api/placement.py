"""REST of placement: instance types, and where something would run before it does."""

from typing import Any

from django.forms.models import model_to_dict
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.etags import IF_MATCH, etag_of, if_match
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_only, read_query
from controlplane.deployments import services
from controlplane.deployments.models import InstanceType
from controlplane.deployments.selectors.instance_types import (
    instance_type_get,
    instance_type_list,
    instance_types_used,
)
from controlplane.deployments.serializers.placement import (
    InstanceTypeInputSerializer,
    InstanceTypePatchSerializer,
    InstanceTypeSerializer,
    PlacementPreviewInputSerializer,
    PlacementPreviewSerializer,
    PlacementSerializer,
)
from controlplane.deployments.services.previews import placement_preview

InstanceTypePageSerializer = page_of(InstanceTypeSerializer)
SHOWN_ONLY = read_only(InstanceTypeSerializer, InstanceTypeInputSerializer)


def instance_types_shown(rows: list[InstanceType]) -> list[dict[str, Any]]:
    fitting = services.nodes_fitting(rows, timezone.now())
    used = instance_types_used(rows)
    return [
        model_to_dict(row)
        | {
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "used_by": used.get(row.pk, 0),
            "nodes": fitting[row.pk],
        }
        for row in rows
    ]


def instance_type_body(row: InstanceType) -> Any:
    return InstanceTypeSerializer(instance_types_shown([row])[0]).data


def instance_type_etag(body: Any) -> str:
    return etag_of(body["name"], *(body[name] for name in InstanceTypePatchSerializer.empty))


def instance_type_answer(body: Any) -> Response:
    return Response(body, headers={"ETag": instance_type_etag(body)})


class PlacementView(ProjectAPIView):
    @extend_schema(operation_id="deployments_placement", responses=PlacementSerializer)
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Where one more replica would go, and what speaks against every other node."""
        del request
        verdicts = services.placement_explained(
            endpoint=endpoint, name=deployment, now=timezone.now()
        )
        return Response(PlacementSerializer({"items": verdicts}).data)


class PlacementPreviewView(ProjectAPIView):
    @extend_schema(
        operation_id="placement_preview",
        request=PlacementPreviewInputSerializer,
        responses=PlacementPreviewSerializer,
    )
    def post(self, request: Request) -> Response:
        """Where a deployment would run that does not exist yet. Nothing is written or reserved."""
        values = read_body(PlacementPreviewInputSerializer, request)
        found = placement_preview(**values, now=timezone.now())
        return Response(PlacementPreviewSerializer(found).data)


class InstanceTypesView(ProjectAPIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="instance_types_list",
        parameters=PAGE_PARAMETERS,
        responses=InstanceTypePageSerializer,
    )
    def get(self, request: Request) -> Response:
        """What a deployment may ask for, each with the nodes that would take it now."""
        query = read_query(PageQuery, request)
        rows = instance_type_list().filter(name__icontains=query["q"])
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=["name"])
        body = {"items": instance_types_shown(list(page.items)), "next_cursor": page.next_cursor}
        return Response(InstanceTypePageSerializer(body).data)

    @extend_schema(
        operation_id="instance_types_create",
        request=InstanceTypeInputSerializer,
        responses={
            201: InstanceTypeSerializer,
            409: OpenApiResponse(description="`NameTaken`: also when an alias is taken"),
        },
    )
    def post(self, request: Request) -> Response:
        values = read_body(InstanceTypeInputSerializer, request)
        row = services.instance_type_create(**values, actor=actor(request))
        return Response(instance_type_body(row), status=status.HTTP_201_CREATED)


class InstanceTypeView(ProjectAPIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="instance_types_get", responses=InstanceTypeSerializer)
    def get(self, request: Request, name: str) -> Response:
        """By its name or one of its aliases, whatever the case."""
        del request
        return instance_type_answer(instance_type_body(instance_type_get(name)))

    @extend_schema(
        operation_id="instance_types_update",
        parameters=[IF_MATCH],
        request=InstanceTypePatchSerializer,
        responses=InstanceTypeSerializer,
    )
    def patch(self, request: Request, name: str) -> Response:
        """What runs stays where it is; the next placement goes by the new values."""
        values = read_body(
            InstanceTypePatchSerializer, request, ignored=SHOWN_ONLY, fixed={"name": name}
        )
        known = instance_type_get(name)  # by an alias, perhaps
        with if_match(
            request,
            InstanceType.objects.filter(pk=known.pk),
            lambda: instance_type_body(instance_type_get(known.name)),
            instance_type_etag,
        ):
            row = services.instance_type_update(name=name, actor=actor(request), **values)
        return instance_type_answer(instance_type_body(row))

    @extend_schema(
        operation_id="instance_types_delete",
        request=None,
        responses={204: None, 409: OpenApiResponse(description="`InUse` with `used_by`")},
    )
    def delete(self, request: Request, name: str) -> Response:
        services.instance_type_delete(name=name, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
