"""REST of the event log: reading on, checking the chain, taking it away."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import PEOPLE, Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core import audit, events, exports
from controlplane.core.models import Event, EventArchive
from controlplane.core.pagination import page_of, paginate
from controlplane.core.requests import read_query
from controlplane.events import services
from controlplane.events.selectors import EventFilter, event_archive_get, events_list
from controlplane.events.serializers import (
    AuditVerificationSerializer,
    EventArchiveSerializer,
    EventArchivesQuery,
    EventSerializer,
    EventsExportQuery,
    EventsQuery,
    ExportFormat,
)

EventPageSerializer = page_of(EventSerializer)
EventArchivePageSerializer = page_of(EventArchiveSerializer)
Lines = Callable[[Iterable[Event]], Iterator[str]]
FORMATS: dict[str, tuple[str, Lines]] = {
    "csv": ("text/csv; charset=utf-8", exports.export_csv),
    "ndjson": ("application/x-ndjson", exports.export_ndjson),
}
LINES_PER_PIECE = 500


class EventsView(ProjectAPIView):
    @extend_schema(
        operation_id="events_list", parameters=[EventsQuery], responses=EventPageSerializer
    )
    def get(self, request: Request) -> Response:
        """With ``after_seq`` what came behind it, in order; without it the latest, newest first,
        page by page. Who has roles in projects alone is told of what is in these."""
        query = read_query(EventsQuery, request)
        limit, after_seq = query.pop("limit"), query.pop("after_seq")
        before_seq = query.pop("cursor")
        items = events_list(
            _filter(query, request), after_seq=after_seq, before_seq=before_seq, limit=limit + 1
        )
        more = len(items) > limit and after_seq is None
        body = {
            "items": items[:limit],
            "next_cursor": str(items[limit - 1].seq) if more else None,
        }
        return Response(EventPageSerializer(body).data)


def _filter(query: dict[str, Any], request: Request) -> EventFilter:
    severity = frozenset(query.pop("severity"))
    return EventFilter(people=may(request, PEOPLE), severity=severity, **query)


class EventsExportView(APIView):
    read_permission = Permission.OPERATE

    @extend_schema(
        operation_id="events_export",
        parameters=[EventsExportQuery],
        responses={
            (200, "application/x-ndjson"): OpenApiTypes.STR,
            (200, "text/csv"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request) -> HttpResponseBase:
        """All that one may read, oldest first, with each event's place in the chain. Being audited
        itself."""
        query = read_query(EventsExportQuery, request)
        kind = query.pop("file_format")
        audit.seal()
        last = Event.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
        _note_export(request, "exported the event log", {"format": kind})
        rows = _filter(query, request).rows().filter(seq__lte=last)
        return _streamed(exports.in_order(rows), kind, "shoal-events")


class EventArchivesView(APIView):
    read_permission = Permission.OPERATE

    @extend_schema(
        operation_id="events_archives_list",
        parameters=[EventArchivesQuery],
        responses=EventArchivePageSerializer,
    )
    def get(self, request: Request) -> Response:
        """Archives that hold events which left the database, the newest first."""
        query = read_query(EventArchivesQuery, request)
        page: Any = paginate(EventArchive.objects.all(), order=("-first_link",), **query)
        return Response(EventArchivePageSerializer(page).data)


class EventArchiveExportView(APIView):
    read_permission = Permission.OPERATE

    @extend_schema(
        operation_id="events_archives_export",
        parameters=[ExportFormat],
        responses={
            (200, "application/x-ndjson"): OpenApiTypes.STR,
            (200, "text/csv"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, number: int) -> HttpResponseBase:
        """The events of one archive that one may read, in order of their links, once its file was
        compared with its seal. Being audited itself."""
        kind = read_query(ExportFormat, request)["file_format"]
        row = event_archive_get(number)
        found = services.archived_events(row, people=may(request, PEOPLE))
        told = {"format": kind, "archive": row.pk}
        _note_export(request, f"exported archive {row.pk} of the event log", told)
        return _streamed(found, kind, f"shoal-events-{row.first_seq}-{row.last_seq}")


def _note_export(request: Request, what: str, data: dict[str, Any]) -> None:
    events.record(
        actor=actor(request),
        verb="events.exported",
        subject="events",
        message=f"{actor(request)} {what}",
        data=data,
    )


def _streamed(found: Iterable[Event], kind: str, name: str) -> HttpResponseBase:
    content_type, lines = FORMATS[kind]
    response = StreamingHttpResponse(_pieces(lines(found)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


async def _pieces(lines: Iterator[str]) -> AsyncIterator[str]:
    # why asynchronous: a plain iterator would be drained into memory as a whole under ASGI
    take = sync_to_async(lambda: list(islice(lines, LINES_PER_PIECE)))
    while found := await take():
        yield "".join(found)


class AuditVerifyView(APIView):
    read_permission = Permission.OPERATE

    @extend_schema(
        operation_id="events_verify",
        responses={
            200: OpenApiResponse(
                AuditVerificationSerializer, description="the walk's outcome, also when it broke"
            )
        },
    )
    def get(self, request: Request) -> Response:
        """Walk the chain over the whole log, archives first: nothing was changed, removed or
        slipped in?"""
        del request
        found: Any = services.verify()
        return Response(AuditVerificationSerializer(found).data)
