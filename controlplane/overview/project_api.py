"""REST of projects and their members."""

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
from rest_framework.views import APIView

from controlplane.accounts import projects
from controlplane.accounts.models import Project
from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.accounts.services import projects as services
from controlplane.core.etags import IF_MATCH, etag_of, if_match
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_only, read_query
from controlplane.overview.project_serializers import (
    ARCHIVED,
    MemberInputSerializer,
    MemberSerializer,
    ProjectInputSerializer,
    ProjectPatchSerializer,
    ProjectSerializer,
    ProjectsQuery,
)
from controlplane.overview.projects import projects_shown

ProjectPageSerializer = extend_schema_serializer(component_name="ProjectPage")(
    page_of(ProjectSerializer)
)
MemberPageSerializer = page_of(MemberSerializer)
SHOWN_ONLY = read_only(ProjectSerializer, ProjectPatchSerializer) - {"name"}
MEMBER_SHOWN_ONLY = read_only(MemberSerializer, MemberInputSerializer) - {"username"}
TAG = ("name", "display_name", "archived", "max_replicas", "max_gpus", "max_bytes")


def project_body(row: Project) -> Any:
    return ProjectSerializer(projects_shown([row])[0]).data


def project_etag(body: Any) -> str:
    return etag_of(*(body[name] for name in TAG))


def project_answer(row: Project, code: int = status.HTTP_200_OK) -> Response:
    body = project_body(row)
    return Response(body, status=code, headers={"ETag": project_etag(body)})


class ProjectsView(ProjectAPIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="projects_list",
        parameters=[*PAGE_PARAMETERS, OpenApiParameter("archived", str, enum=ARCHIVED)],
        responses=ProjectPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """Those that one has a role in, or all; with what they use."""
        query = read_query(ProjectsQuery, request)
        rows = projects.project_list(q=query["q"], archived=query["archived"])
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=["name"])
        body = {"items": projects_shown(page.items), "next_cursor": page.next_cursor}
        return Response(ProjectPageSerializer(body).data)

    @extend_schema(
        operation_id="projects_create",
        request=ProjectInputSerializer,
        responses={201: ProjectSerializer, 409: OpenApiResponse(description="`NameTaken`")},
    )
    def post(self, request: Request) -> Response:
        values = read_body(ProjectInputSerializer, request)
        row = services.project_create(actor=actor(request), **values)
        return project_answer(row, status.HTTP_201_CREATED)


class ProjectView(ProjectAPIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="projects_get", responses=ProjectSerializer)
    def get(self, request: Request, project: str) -> Response:
        del request
        return project_answer(projects.project_get(project))

    @extend_schema(
        operation_id="projects_update",
        parameters=[IF_MATCH],
        request=ProjectPatchSerializer,
        responses=ProjectSerializer,
    )
    def patch(self, request: Request, project: str) -> Response:
        """Its display name and limits. A limit below what is used stops nothing that runs."""
        values = read_body(
            ProjectPatchSerializer, request, ignored=SHOWN_ONLY, fixed={"name": project}
        )
        with if_match(
            request,
            Project.objects.filter(name=project),
            lambda: project_body(projects.project_get(project)),
            project_etag,
        ):
            row = services.project_update(name=project, actor=actor(request), **values)
        return project_answer(row)


class ProjectArchiveView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="projects_archive", request=None, responses=ProjectSerializer)
    def post(self, request: Request, project: str) -> Response:
        """Let nothing new be made in it; what runs there runs on."""
        return project_answer(
            services.project_set_archived(name=project, archived=True, actor=actor(request))
        )


class ProjectRestoreView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="projects_restore", request=None, responses=ProjectSerializer)
    def post(self, request: Request, project: str) -> Response:
        return project_answer(
            services.project_set_archived(name=project, archived=False, actor=actor(request))
        )


class MembersView(APIView):
    read_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="project_members_list",
        parameters=PAGE_PARAMETERS,
        responses=MemberPageSerializer,
    )
    def get(self, request: Request, project: str) -> Response:
        """Who has a role in it, besides those who have one in the installation."""
        query = read_query(PageQuery, request)
        rows = projects.member_list(projects.project_get(project))
        page = paginate(
            rows.filter(user__username__icontains=query["q"]),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["user__username"],
        )
        return Response(MemberPageSerializer(page).data)


class MemberView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="project_members_set",
        request=MemberInputSerializer,
        responses=MemberSerializer,
    )
    def put(self, request: Request, project: str, username: str) -> Response:
        """Give a user, or a service account, this role in it, whatever it was before."""
        values = read_body(
            MemberInputSerializer,
            request,
            ignored=MEMBER_SHOWN_ONLY,
            fixed={"username": username},
        )
        row = services.member_set(
            project=project, username=username, actor=actor(request), **values
        )
        return Response(MemberSerializer(row).data)

    @extend_schema(operation_id="project_members_remove", request=None, responses={204: None})
    def delete(self, request: Request, project: str, username: str) -> Response:
        """It counts from the next request on; open sockets hear of it within 30 seconds."""
        services.member_remove(project=project, username=username, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
