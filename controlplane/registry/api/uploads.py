"""REST of uploads: create, send chunks by offset, complete, watch, delete."""

import base64
import binascii
from typing import cast

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.models import User
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.errors import Invalid
from controlplane.core.parsers import SafeJSONParser
from controlplane.core.requests import read_body
from controlplane.core.validation_messages import shown
from controlplane.registry import selectors
from controlplane.registry.serializers.uploads import (
    ImportInputSerializer,
    UploadCompleteSerializer,
    UploadInputSerializer,
    UploadSerializer,
)
from controlplane.registry.services import file_lists, imports, uploads

OFFSET_HEADER = "Upload-Offset"
LONGEST_OFFSET = 18  # digits
LENGTH_HEADER = "Upload-Length"
CHECKSUM_HEADER = "Upload-Checksum"


class AnyType(BaseParser):
    """Admits a body of any type; the view reads the stream itself, in pieces."""

    media_type = "*/*"


def offset_of(request: Request) -> int:
    text = request.headers.get(OFFSET_HEADER)
    # why a length: Python refuses to read numbers of thousands of digits
    if text is None or not text.isdecimal() or len(text) > LONGEST_OFFSET:
        raise Invalid(
            f"The header {OFFSET_HEADER} is {'missing' if text is None else shown(text)}, expected "
            "the place in the file where this chunk begins, in bytes.",
            field=OFFSET_HEADER,
            hints=("`offset` of GET /api/v1/uploads/{id} is the next byte to send.",),
        )
    return int(text)


def checksum_of(request: Request) -> bytes | None:
    """The digest in ``Upload-Checksum: sha256 <base64>``, if the header is there."""
    text = request.headers.get(CHECKSUM_HEADER)
    if text is None:
        return None
    algorithm, _, value = text.strip().partition(" ")
    try:
        digest = base64.b64decode(value, validate=True)
    except binascii.Error:
        digest = b""
    if algorithm.lower() != "sha256" or len(digest) != 32:
        raise Invalid(
            f"The header {CHECKSUM_HEADER} is {shown(text)}, expected "
            "`sha256 <base64 of 32 bytes>`.",
            field=CHECKSUM_HEADER,
            hints=("Leave it out, or send the digest of this chunk alone.",),
        )
    return digest


class UploadsView(ProjectAPIView):
    @extend_schema(
        operation_id="uploads_create",
        request=UploadInputSerializer,
        responses={
            201: UploadSerializer,
            409: OpenApiResponse(description="`ProjectArchived`, `ProjectQuotaExceeded`"),
            507: OpenApiResponse(description="`DiskFull`: the numbers are in the answer"),
        },
    )
    def post(self, request: Request) -> Response:
        """Announce a file, or several by path and SHA-256. Then send their bytes with PATCH.

        Of a list only those in `files` of the upload: what is here already is not sent again.
        """
        values, user = read_body(UploadInputSerializer, request), cast(User, request.user)
        upload = (
            file_lists.file_list_create(
                filename=values["filename"],
                files=values["files"],
                user=user,
                project=values["project"],
            )
            if "files" in values
            else uploads.upload_create(**values, user=user)
        )
        return Response(
            UploadSerializer(upload).data,
            status=status.HTTP_201_CREATED,
            headers={"Location": f"/api/v1/uploads/{upload.id}"},
        )


class ImportsView(ProjectAPIView):
    @extend_schema(
        operation_id="imports_create",
        request=ImportInputSerializer,
        responses={
            202: UploadSerializer,
            409: OpenApiResponse(description="`ProjectArchived`, `TooManyUploads`"),
        },
    )
    def post(self, request: Request) -> Response:
        """Have the server fetch a model from an address: it becomes an upload, without sending.

        Watch `state`, `steps` and `offset` of the upload; deleting it ends the import.
        """
        values, user = read_body(ImportInputSerializer, request), cast(User, request.user)
        upload = imports.import_create(**values, user=user)
        return Response(
            UploadSerializer(upload).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": f"/api/v1/uploads/{upload.id}"},
        )


class UploadView(ProjectAPIView):
    parser_classes = [AnyType]

    @extend_schema(operation_id="uploads_get", responses=UploadSerializer)
    def get(self, request: Request, upload_id: str) -> Response:
        """State, steps and outcome. HEAD gives only the offset, for resuming."""
        del request
        upload = selectors.upload_get(upload_id)
        return Response(
            UploadSerializer(upload).data,
            headers={OFFSET_HEADER: str(upload.offset), LENGTH_HEADER: str(upload.size)},
        )

    @extend_schema(
        operation_id="uploads_append",
        parameters=[
            OpenApiParameter(OFFSET_HEADER, int, OpenApiParameter.HEADER, required=True),
            OpenApiParameter(CHECKSUM_HEADER, str, OpenApiParameter.HEADER),
        ],
        request={"application/offset+octet-stream": OpenApiTypes.BINARY},
        responses={
            200: UploadSerializer,
            400: OpenApiResponse(description="`ChecksumMismatch`: send the chunk again"),
            409: OpenApiResponse(description="`UploadOffsetConflict`: continue from `offset`"),
            507: OpenApiResponse(description="`DiskFull`: nothing is lost"),
        },
    )
    def patch(self, request: Request, upload_id: str) -> Response:
        """One chunk of at most 16 MiB. It is kept whole or not at all."""
        offset, checksum = offset_of(request), checksum_of(request)
        upload = uploads.chunk_append(
            upload_id=upload_id, offset=offset, source=request._request, checksum=checksum
        )
        return Response(UploadSerializer(upload).data, headers={OFFSET_HEADER: str(upload.offset)})

    @extend_schema(operation_id="uploads_delete", request=None, responses={204: None})
    def delete(self, request: Request, upload_id: str) -> Response:
        uploads.upload_delete(upload_id=upload_id, actor=request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)


class UploadCompleteView(ProjectAPIView):
    parser_classes = [SafeJSONParser]

    @extend_schema(
        operation_id="uploads_complete",
        request=UploadCompleteSerializer,
        responses={
            202: UploadSerializer,
            409: OpenApiResponse(description="`UploadIncomplete`: continue from `offset`"),
        },
    )
    def post(self, request: Request, upload_id: str) -> Response:
        """All bytes are sent: check, unpack and inspect them. Watch `state` and `steps`."""
        values = read_body(UploadCompleteSerializer, request)
        upload = uploads.upload_complete(
            upload_id=upload_id, actor=request.user.get_username(), **values
        )
        return Response(UploadSerializer(upload).data, status=status.HTTP_202_ACCEPTED)
