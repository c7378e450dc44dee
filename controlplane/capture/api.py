"""REST of captured data. What clients sent is in it: nobody below a deployer of its project reads
any of it, statistics included, as these hold values."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.capture import baselines, selectors, services
from controlplane.capture.models import WINDOW_HOURS, CaptureBaseline
from controlplane.capture.replay import inputs_of
from controlplane.capture.serializers import (
    CaptureBaselineFileQuery,
    CaptureBaselineInputSerializer,
    CaptureBaselineSerializer,
    CapturedFilePageSerializer,
    CapturedRequestQuery,
    CapturedRequestSerializer,
    CaptureStatisticsQuery,
    CaptureStatisticsSerializer,
    CaptureWindowSerializer,
    baseline_shown,
    statistics_shown,
)
from controlplane.core.etags import IF_MATCH, etag_of, if_match
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, paginate
from controlplane.core.parsers import NdjsonParser
from controlplane.core.requests import read_body, read_query
from controlplane.core.sending import bytes_response
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.registry.stores import blob_store


class CaptureView(ProjectAPIView):
    read_permission = Permission.DEPLOY
    write_permission = Permission.DEPLOY


class CapturedFilesView(CaptureView):
    @extend_schema(
        operation_id="captured_files_list",
        parameters=[one for one in PAGE_PARAMETERS if one.name != "q"],
        responses=CapturedFilePageSerializer,
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Files of captured requests, the latest first. Deployers only."""
        query = read_query(PageQuery, request)
        page = paginate(
            selectors.captured_list(selectors.deployment_named(endpoint, deployment)),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["-last_at", "id"],
        )
        return Response(CapturedFilePageSerializer(page).data)


class CapturedFileView(CaptureView):
    @extend_schema(
        operation_id="captured_files_download",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(
        self, request: Request, endpoint: str, deployment: str, file_id: str
    ) -> HttpResponseBase:
        """One file: a JSON object in each line. That it was read is an event. Deployers only."""
        row = services.captured_open(
            deployment=selectors.deployment_named(endpoint, deployment),
            file_id=file_id,
            actor=actor(request),
        )
        name = f"{endpoint}-{deployment}-{row.first_at:%Y%m%dT%H%M%S}-{row.pk[:8]}.jsonl"
        opened = partial(blob_store().open, services.blob_name(row.pk))
        return bytes_response(row.size, opened, request.headers.get("Range", ""), filename=name)


class CapturedRequestView(CaptureView):
    @extend_schema(
        operation_id="captured_request",
        parameters=[CapturedRequestQuery],
        responses={
            200: CapturedRequestSerializer,
            404: OpenApiResponse(description="`CapturedRequestNotFound`"),
        },
    )
    def get(self, request: Request, endpoint: str, deployment: str, request_id: str) -> Response:
        """What a client sent with this x-request-id, as far as it was captured, so that it can be
        sent again. That it was read is an event. Deployers only."""
        row = selectors.deployment_named(endpoint, deployment)
        at = read_query(CapturedRequestQuery, request)["at"]
        record = services.captured_request_open(
            deployment=row,
            request_id=request_id,
            at=datetime.fromtimestamp(at, UTC),
            actor=actor(request),
        )
        inputs, told = inputs_of(record)
        version = record.get("version")
        body = {
            "id": request_id,
            "model": str(record.get("model", ""))[:255],
            "version": version if isinstance(version, int) else 0,
            "time": str(record.get("time", ""))[:40],
            "inputs": inputs,
            "told": told,
        }
        return Response(CapturedRequestSerializer(body).data)


class CaptureStatisticsView(CaptureView):
    @extend_schema(
        operation_id="capture_statistics",
        parameters=[
            OpenApiParameter(
                "hours",
                int,
                description=f"of the window, 1 to {selectors.LONGEST_HOURS}; left out: as many as "
                f"are held against the baseline, or {WINDOW_HOURS}",
            )
        ],
        responses=CaptureStatisticsSerializer,
    )
    def get(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Statistics of each input and output in a window, and how far it is from the baseline.

        They are of the sample that is captured, without that of which the baseline was made.
        Deployers only: ranges and categories are values.
        """
        hours = read_query(CaptureStatisticsQuery, request)["hours"]
        row = selectors.deployment_named(endpoint, deployment)
        baseline = selectors.baseline_of(row)
        found = selectors.statistics(row, baseline, hours=hours, now=timezone.now())
        body = statistics_shown(row, baseline, found)
        return Response(CaptureStatisticsSerializer(body).data)


def shown(row: CaptureBaseline) -> Response:
    body = CaptureBaselineSerializer(baseline_shown(row)).data
    return Response(body, headers={"ETag": body["etag"]})


@contextmanager
def _as_seen(request: Request, deployment: Deployment) -> Iterator[None]:
    def body() -> dict[str, Any] | None:
        row = selectors.baseline_of(deployment)
        return None if row is None else CaptureBaselineSerializer(baseline_shown(row)).data

    with if_match(
        request,
        # why the endpoint: who changes a baseline locks that
        Endpoint.objects.filter(pk=deployment.endpoint_id),
        body,
        lambda found: etag_of(None) if found is None else str(found["etag"]),
    ):
        yield


class CaptureBaselineView(CaptureView):
    @extend_schema(
        operation_id="capture_baseline_set",
        parameters=[IF_MATCH],
        request=CaptureBaselineInputSerializer,
        responses={
            200: CaptureBaselineSerializer,
            409: OpenApiResponse(description="`NoCapturedData`: nothing was captured then"),
        },
    )
    def put(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Compare with what was captured in a window of the last seven days. What is in it is left
        out of what is compared with it."""
        asked = read_body(CaptureBaselineInputSerializer, request)
        of = selectors.deployment_named(endpoint, deployment)
        with _as_seen(request, of):
            row = baselines.baseline_from_window(
                deployment=of, actor=actor(request), now=timezone.now(), **asked
            )
        return shown(row)

    @extend_schema(
        operation_id="capture_baseline_update",
        parameters=[IF_MATCH],
        request=CaptureWindowSerializer,
        responses={
            200: CaptureBaselineSerializer,
            409: OpenApiResponse(description="`NoBaseline`"),
        },
    )
    def patch(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Hold another window against the same baseline: statistics and the alert go by it."""
        values = read_body(CaptureWindowSerializer, request)
        of = selectors.deployment_named(endpoint, deployment)
        with _as_seen(request, of):
            row = baselines.baseline_window_set(
                deployment=of, actor=actor(request), now=timezone.now(), **values
            )
        return shown(row)

    @extend_schema(
        operation_id="capture_baseline_delete", parameters=[IF_MATCH], responses={204: None}
    )
    def delete(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Compare with nothing any more."""
        of = selectors.deployment_named(endpoint, deployment)
        with _as_seen(request, of):
            baselines.baseline_delete(deployment=of, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class CaptureBaselineFileView(CaptureView):
    parser_classes = [NdjsonParser]

    @extend_schema(
        operation_id="capture_baseline_upload",
        parameters=[CaptureBaselineFileQuery, IF_MATCH],
        request={"application/x-ndjson": OpenApiTypes.BINARY},
        responses={
            200: CaptureBaselineSerializer,
            400: OpenApiResponse(description="`CapturedDataInvalid` with the line at fault"),
        },
    )
    def put(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Compare with records of a file, such as of training data: 16 MiB at most, a JSON object
        in each line, as captured files have it."""
        asked = read_query(CaptureBaselineFileQuery, request)
        of = selectors.deployment_named(endpoint, deployment)
        content = b"" if request.stream is None else request.stream.read()
        with _as_seen(request, of):
            row = baselines.baseline_from_file(
                deployment=of, content=content, **asked, actor=actor(request), now=timezone.now()
            )
        return shown(row)
