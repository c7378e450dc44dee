"""REST of uploads that are lists of files: what is missing, and chunks of each."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.registry import selectors
from controlplane.registry.api.uploads import (
    CHECKSUM_HEADER,
    LENGTH_HEADER,
    OFFSET_HEADER,
    AnyType,
    checksum_of,
    offset_of,
)
from controlplane.registry.serializers.uploads import MissingFileSerializer, MissingFilesSerializer
from controlplane.registry.services import file_lists, upload_progress
from controlplane.registry.types import FileProgress


def _answer(progress: FileProgress) -> Response:
    headers = {OFFSET_HEADER: str(progress["offset"]), LENGTH_HEADER: str(progress["size"])}
    return Response(MissingFileSerializer(progress).data, headers=headers)


class UploadFilesView(ProjectAPIView):
    @extend_schema(operation_id="uploads_files_missing", responses=MissingFilesSerializer)
    def get(self, request: Request, upload_id: str) -> Response:
        """The files whose bytes have not arrived whole, each content once."""
        del request
        missing = upload_progress.files_missing(selectors.upload_get(upload_id).pk)
        return Response(MissingFilesSerializer({"items": missing}).data)


class UploadFileView(ProjectAPIView):
    parser_classes = [AnyType]

    @extend_schema(operation_id="uploads_file_get", responses=MissingFileSerializer)
    def get(self, request: Request, upload_id: str, sha256: str) -> Response:
        """How much of one file has arrived. HEAD gives only the offset, for resuming."""
        del request
        row = upload_progress.announced(selectors.upload_get(upload_id).pk, sha256)
        return _answer(upload_progress.progress_of(row, upload_progress.arrived_bytes(row)))

    @extend_schema(
        operation_id="uploads_file_append",
        parameters=[
            OpenApiParameter(OFFSET_HEADER, int, OpenApiParameter.HEADER, required=True),
            OpenApiParameter(CHECKSUM_HEADER, str, OpenApiParameter.HEADER),
        ],
        request={"application/offset+octet-stream": OpenApiTypes.BINARY},
        responses={
            200: MissingFileSerializer,
            400: OpenApiResponse(description="`ChecksumMismatch`: send the chunk again"),
            409: OpenApiResponse(description="`UploadOffsetConflict`: continue from `offset`"),
            507: OpenApiResponse(description="`DiskFull`: nothing is lost"),
        },
    )
    def patch(self, request: Request, upload_id: str, sha256: str) -> Response:
        """One chunk of at most 16 MiB of one file. Several files may be sent at a time."""
        offset, checksum = offset_of(request), checksum_of(request)
        return _answer(
            file_lists.file_append(
                upload_id=upload_id,
                sha256=sha256,
                offset=offset,
                source=request._request,
                checksum=checksum,
            )
        )
