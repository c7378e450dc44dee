"""REST of environments."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.accounts.projects import project_stays
from controlplane.core.etags import IF_MATCH, etag_of, if_match
from controlplane.core.filters import PROJECT_PARAMETER, TAG_PARAMETER, tags_of
from controlplane.core.pagination import PAGE_PARAMETERS, Page, page_of, paginate
from controlplane.core.requests import read_body, read_only, read_query
from controlplane.environments import selectors, services
from controlplane.environments.models import EnvironmentVersion
from controlplane.environments.serializers import (
    ARCHIVED,
    EnvironmentInputSerializer,
    EnvironmentPatchSerializer,
    EnvironmentSerializer,
    EnvironmentsQuery,
)

EnvironmentPageSerializer = extend_schema_serializer(component_name="EnvironmentPage")(
    page_of(EnvironmentSerializer)
)
LISTED = [*PAGE_PARAMETERS, OpenApiParameter("archived", str, enum=ARCHIVED)]
SHOWN_ONLY = read_only(EnvironmentSerializer, EnvironmentPatchSerializer) - {"name"}


def environment_etag(body: Any) -> str:
    return etag_of(*(body[key] for key in ("name", "version", "description", "tags", "archived")))


def _answer(row: EnvironmentVersion) -> Response:
    body = EnvironmentSerializer(row).data
    return Response(body, headers={"ETag": environment_etag(body)})


def _page(rows: Any, query: dict[str, Any], order: list[str]) -> Response:
    page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=order)
    found = Page(selectors.versions_complete(page.items), page.next_cursor)
    return Response(EnvironmentPageSerializer(found).data)


class EnvironmentsView(ProjectAPIView):
    @extend_schema(
        operation_id="environments_list",
        parameters=[*LISTED, TAG_PARAMETER, PROJECT_PARAMETER],
        responses=EnvironmentPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """The newest version of each."""
        query = read_query(EnvironmentsQuery, request)
        rows = selectors.environment_list(
            q=query["q"],
            archived=query["archived"],
            tags=tags_of(request),
            project=query["project"],
        )
        return _page(rows, query, ["name"])

    @extend_schema(
        operation_id="environments_register",
        request=EnvironmentInputSerializer,
        responses={
            200: OpenApiResponse(EnvironmentSerializer, description="the same content as before"),
            201: EnvironmentSerializer,
            409: OpenApiResponse(description="`EnvironmentVersionImmutable`, `NameTaken`"),
        },
    )
    def post(self, request: Request) -> Response:
        """Register a list of packages as a new environment, or as the next version of one."""
        values = read_body(EnvironmentInputSerializer, request)
        row, created = services.environment_register(actor=request.user.get_username(), **values)
        answer = _answer(row)
        answer.status_code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return answer


class EnvironmentVersionsView(ProjectAPIView):
    @extend_schema(
        operation_id="environment_versions_list",
        parameters=[*LISTED[:2], LISTED[-1]],
        responses=EnvironmentPageSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        """The newest first."""
        query = read_query(EnvironmentsQuery, request)
        rows = selectors.version_list(name, archived=query["archived"])
        return _page(rows, query, ["-version"])


class EnvironmentVersionView(ProjectAPIView):
    @extend_schema(operation_id="environment_versions_get", responses=EnvironmentSerializer)
    def get(self, request: Request, name: str, version: str) -> Response:
        """`version` is a number, or `latest`."""
        del request
        return _answer(selectors.version_get(name, version))

    @extend_schema(
        operation_id="environment_versions_update",
        parameters=[IF_MATCH],
        request=EnvironmentPatchSerializer,
        responses=EnvironmentSerializer,
    )
    def patch(self, request: Request, name: str, version: str) -> Response:
        """Its words; the content of a version never changes."""
        values = read_body(
            EnvironmentPatchSerializer, request, ignored=SHOWN_ONLY, fixed={"name": name}
        )
        known = selectors.version_get(name, version)
        project_stays(request.data, lambda: known.project_name)
        number = known.version
        with if_match(
            request,
            EnvironmentVersion.objects.filter(name=name, version=number),
            lambda: EnvironmentSerializer(selectors.version_get(name, number)).data,
            environment_etag,
        ):
            row = services.version_update(
                name=name, version=str(number), actor=request.user.get_username(), **values
            )
        return _answer(row)


def _set_archived(request: Request, name: str, version: str | None, *, archived: bool) -> Response:
    row = services.environment_set_archived(
        name=name, version=version, archived=archived, actor=request.user.get_username()
    )
    return _answer(row)


class EnvironmentArchiveView(ProjectAPIView):
    @extend_schema(
        operation_id="environments_archive", request=None, responses=EnvironmentSerializer
    )
    def post(self, request: Request, name: str) -> Response:
        """Hide all its versions from lists; what was made with them runs on."""
        return _set_archived(request, name, None, archived=True)


class EnvironmentRestoreView(ProjectAPIView):
    @extend_schema(
        operation_id="environments_restore", request=None, responses=EnvironmentSerializer
    )
    def post(self, request: Request, name: str) -> Response:
        return _set_archived(request, name, None, archived=False)


class EnvironmentVersionArchiveView(ProjectAPIView):
    @extend_schema(
        operation_id="environment_versions_archive", request=None, responses=EnvironmentSerializer
    )
    def post(self, request: Request, name: str, version: str) -> Response:
        """Hide it from lists and from `latest`; what was made with it runs on."""
        return _set_archived(request, name, version, archived=True)


class EnvironmentVersionRestoreView(ProjectAPIView):
    @extend_schema(
        operation_id="environment_versions_restore", request=None, responses=EnvironmentSerializer
    )
    def post(self, request: Request, name: str, version: str) -> Response:
        return _set_archived(request, name, version, archived=False)
