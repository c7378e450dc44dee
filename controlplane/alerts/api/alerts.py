"""REST of alerts and of silences."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.accounts.projects import project_get
from controlplane.accounts.scope import scope_now
from controlplane.alerts.selectors import alerts as selectors
from controlplane.alerts.serializers.alerts import (
    AlertCountsSerializer,
    AlertSerializer,
    AlertsQuery,
    SilenceInputSerializer,
    SilenceSerializer,
)
from controlplane.alerts.services import silences as services
from controlplane.core.errors import Forbidden, Invalid
from controlplane.core.filters import PROJECT_PARAMETER
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.rehearsal import DRY_RUN, ONLY_ASKED, rehearsable
from controlplane.core.requests import read_body, read_query
from controlplane.deployments.selectors import endpoint_get

AlertPageSerializer = page_of(AlertSerializer)
SilencePageSerializer = page_of(SilenceSerializer)


def operate_wanted(request: Request) -> None:
    """Raises Forbidden. What belongs to no project is for who looks after the installation."""
    if not may(request, Permission.OPERATE):
        raise Forbidden(
            "This is about the installation, and needs the role operator.",
            hints=("Name an endpoint, as `endpoint/quote`, or a project.",),
            extra={"needed_permission": Permission.OPERATE},
        )


class AlertsView(ProjectAPIView):
    @extend_schema(
        operation_id="alerts_list",
        parameters=[
            *PAGE_PARAMETERS,
            OpenApiParameter("state", str, description="several with commas between them"),
            OpenApiParameter("rule", str),
            OpenApiParameter("subject", str, description="`endpoint/quote`"),
            PROJECT_PARAMETER,
        ],
        responses=AlertPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """The newest first, resolved ones as well; `state=pending,firing` are the active ones."""
        query = read_query(AlertsQuery, request)
        wanted = selectors.AlertFilter(
            states=query["state"],
            rule=query["rule"],
            subject=query["subject"],
            project=query["project"],
            q=query["q"],
        )
        order = ["-started_at", "-id"]
        page = paginate(wanted.rows(), limit=query["limit"], cursor=query["cursor"], order=order)
        silences = selectors.silences_now(timezone.now())
        items = [selectors.alert_shown(row, silences) for row in page.items]
        body = {"items": items, "next_cursor": page.next_cursor}
        return Response(AlertPageSerializer(body).data)


class AlertCountsView(ProjectAPIView):
    @extend_schema(operation_id="alerts_counts", responses=AlertCountsSerializer)
    def get(self, request: Request) -> Response:
        """How many are active, for the side bar."""
        del request
        return Response(AlertCountsSerializer(selectors.alert_counts(timezone.now())).data)


class AlertView(ProjectAPIView):
    @extend_schema(operation_id="alerts_get", responses=AlertSerializer)
    def get(self, request: Request, alert_id: str) -> Response:
        del request
        row = selectors.alert_get(alert_id)
        found = selectors.alert_shown(row, selectors.silences_now(timezone.now()))
        return Response(AlertSerializer(found).data)


class AlertAcknowledgeView(ProjectAPIView):
    @extend_schema(operation_id="alerts_acknowledge", request=None, responses=AlertSerializer)
    def post(self, request: Request, alert_id: str) -> Response:
        """Say that you look after it. It stays active until its rule holds again."""
        row, now = selectors.alert_get(alert_id), timezone.now()
        if row.project_id is None:
            operate_wanted(request)
        row = services.alert_acknowledge(row=row, actor=actor(request), now=now)
        found = selectors.alert_shown(row, selectors.silences_now(now))
        return Response(AlertSerializer(found).data)


class SilencesView(ProjectAPIView):
    @extend_schema(
        operation_id="silences_list", parameters=PAGE_PARAMETERS, responses=SilencePageSerializer
    )
    def get(self, request: Request) -> Response:
        """Those that end last first; ended ones are kept for 90 days."""
        query = read_query(PageQuery, request)
        rows = selectors.silence_list()
        if query["q"]:
            rows = rows.filter(subject__icontains=query["q"])
        order = ["-ends_at", "-id"]
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=order)
        body = {"items": list(page.items), "next_cursor": page.next_cursor}
        return Response(SilencePageSerializer(body).data)

    @extend_schema(
        operation_id="silences_create",
        parameters=[DRY_RUN],
        request=SilenceInputSerializer,
        responses={**ONLY_ASKED, 201: SilenceSerializer},
    )
    @rehearsable
    def post(self, request: Request) -> Response:
        """Tell nobody of what matches until it ends; what still fires then is told.

        One for an endpoint or a project needs the right to deploy there, any other that to operate
        nodes.
        """
        values = read_body(SilenceInputSerializer, request)
        project = silence_project(values["subject"], values.pop("project"))
        if project is None:
            operate_wanted(request)
        row = services.silence_create(
            project=project, actor=actor(request), now=timezone.now(), **values
        )
        return Response(SilenceSerializer(row).data, status=status.HTTP_201_CREATED)


def silence_project(subject: str, project: str) -> str | None:
    """The project whose alerts are silenced; None: the installation's, and all others.

    Raises Invalid, EndpointNotFound, ProjectNotFound.
    """
    kind, _, name = subject.partition("/")
    if kind == "endpoint" and name:
        found = endpoint_get(name).project_name
        if project and project != found:
            raise Invalid(
                f"project: {project!r}, expected {found!r}, where {name} is.", field="project"
            )
        return found
    if project:
        return project_get(project).name
    scope = scope_now()
    return next(iter(scope)) if scope is not None and len(scope) == 1 else None


class SilenceView(ProjectAPIView):
    @extend_schema(operation_id="silences_get", responses=SilenceSerializer)
    def get(self, request: Request, silence_id: str) -> Response:
        """One silence, also when it has ended."""
        del request
        return Response(SilenceSerializer(selectors.silence_get(silence_id)).data)

    @extend_schema(operation_id="silences_end", request=None, responses={200: SilenceSerializer})
    def delete(self, request: Request, silence_id: str) -> Response:
        """End it now; it is kept for 90 days."""
        row = selectors.silence_get(silence_id)
        if row.project_id is None:
            operate_wanted(request)
        row = services.silence_end(row=row, actor=actor(request), now=timezone.now())
        return Response(SilenceSerializer(row).data)
