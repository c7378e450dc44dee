"""REST of what a version holds: aliases, files, the whole as a zip, who uses it, the blob store."""

from functools import partial

from django.http import HttpResponseBase, HttpResponseNotModified, StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.errors import Invalid
from controlplane.core.pagination import (
    PAGE_PARAMETERS,
    PageQuery,
    page_of,
    paginate,
    paginate_values,
)
from controlplane.core.requests import read_body, read_query
from controlplane.core.sending import bytes_response, has_seen
from controlplane.registry import selectors
from controlplane.registry.downloads import zip_pieces
from controlplane.registry.errors import FileMissing
from controlplane.registry.layout import CONFIG
from controlplane.registry.models import ConfigRevision
from controlplane.registry.serializers.models import (
    AliasInputSerializer,
    FileListSerializer,
    ModelVersionSerializer,
    UsageSerializer,
)
from controlplane.registry.serializers.uploads import StorageCollectSerializer, StorageSerializer
from controlplane.registry.services import aliases, blobs, versions
from controlplane.registry.stores import blob_store

UsagePageSerializer = page_of(UsageSerializer)
REVISION = OpenApiParameter(
    "revision", int, description="with the configurations of this revision; default: the files"
)


def revision_of(request: Request) -> int:
    text = request.query_params.get("revision", "0")
    if not text.isdecimal() or len(text) > selectors.LONGEST_NUMBER:
        raise Invalid(f"{text!r} is no revision.", field="revision")
    return int(text)


class AliasView(ProjectAPIView):
    @extend_schema(
        operation_id="model_aliases_set",
        request=AliasInputSerializer,
        responses=ModelVersionSerializer,
    )
    def put(self, request: Request, name: str, alias: str) -> Response:
        """Point the alias at a version. What was deployed by it before stays what it is."""
        values = read_body(AliasInputSerializer, request)
        version = aliases.alias_set(
            model=name,
            alias=alias,
            version=values["version"],
            actor=request.user.get_username(),
        )
        return Response(ModelVersionSerializer(version).data)

    @extend_schema(operation_id="model_aliases_delete", request=None, responses={204: None})
    def delete(self, request: Request, name: str, alias: str) -> Response:
        aliases.alias_delete(model=name, alias=alias, actor=request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)


class UsageView(ProjectAPIView):
    @extend_schema(
        operation_id="model_versions_usage",
        parameters=PAGE_PARAMETERS,
        responses=UsagePageSerializer,
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        """Deployments that run on this version, and those that could go back to it."""
        query = read_query(PageQuery, request)
        found = [
            use
            for use in selectors.usage(selectors.version_get(name, version))
            if query["q"] in use["endpoint"]
        ]
        page = paginate_values(
            found,
            limit=query["limit"],
            cursor=query["cursor"],
            key=lambda use: (use["endpoint"], use["deployment"]),
        )
        return Response(UsagePageSerializer(page).data)


class FilesView(ProjectAPIView):
    @extend_schema(
        operation_id="model_versions_files",
        parameters=PAGE_PARAMETERS,
        responses=FileListSerializer,
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        """In the order of their paths; `q` is a part of the path."""
        query = read_query(PageQuery, request)
        row = selectors.version_get(name, version)
        page = paginate(
            selectors.files_matching(row, query["q"]),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["path"],
        )
        body = {"digest": row.digest, "items": page.items, "next_cursor": page.next_cursor}
        return Response(FileListSerializer(body).data, headers={"ETag": f'"{row.digest}"'})


class FileView(ProjectAPIView):
    @extend_schema(
        operation_id="model_versions_file",
        parameters=[
            OpenApiParameter("Range", str, OpenApiParameter.HEADER),
            OpenApiParameter(
                "If-None-Match", str, OpenApiParameter.HEADER, description="the `ETag` you have"
            ),
        ],
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            304: OpenApiResponse(description="it is what you have"),
        },
    )
    def get(self, request: Request, name: str, version: str, path: str) -> HttpResponseBase:
        """One file, whole or from where a download broke off."""
        row = selectors.version_get(name, version)
        file = row.files.filter(path=path).first()
        size = blob_store().size(file.sha256) if file else None
        if file is None or size is None:
            raise FileMissing(f"{row} has no file {path}.")
        tag = f'"{file.sha256}"'
        if has_seen(request, tag):
            return HttpResponseNotModified(headers={"ETag": tag})
        begun = request.headers.get("Range", "bytes=0-").replace(" ", "").startswith("bytes=0-")
        if begun:  # the rest of a download that broke off is the same download
            versions.download_record(version=row, actor=request.user.get_username(), path=path)
        response = bytes_response(
            size,
            partial(blob_store().open, file.sha256),
            request.headers.get("Range", ""),
            filename=path.rpartition("/")[2],
        )
        response["ETag"] = tag
        return response


class ArchiveView(ProjectAPIView):
    @extend_schema(
        operation_id="model_versions_download",
        parameters=[REVISION],
        responses={
            (200, "application/zip"): OpenApiTypes.BINARY,
            404: OpenApiResponse(description="`FileNotFound`: a blob is no longer stored"),
        },
    )
    def get(self, request: Request, name: str, version: str) -> HttpResponseBase:
        """The whole repository; uploading it again makes the same version."""
        row = selectors.version_get(name, version)
        number = revision_of(request)
        revision = selectors.revision_get(row, number) if number else None
        manifest = row.manifest()
        missing = blob_store().missing(entry["sha256"] for entry in manifest)
        if missing:
            raise FileMissing(f"{len(missing)} file(s) of {row} are no longer stored.")
        versions.download_record(version=row, actor=request.user.get_username())
        texts = {f"{model}/{CONFIG}": text for model, text in _edits(revision).items()}
        response = StreamingHttpResponse(
            zip_pieces(manifest, texts), content_type="application/zip"
        )
        filename = f"{row.model.name}-{row.version}.zip"
        response["Content-Disposition"] = content_disposition_header(True, filename) or "attachment"
        return response


def _edits(revision: ConfigRevision | None) -> dict[str, str]:
    return dict(revision.configs) if revision else {}


class StorageView(APIView):
    @extend_schema(operation_id="storage_get", responses=StorageSerializer)
    def get(self, request: Request) -> Response:
        """What the blob store holds, and how much of it nothing names any more."""
        del request
        return Response(StorageSerializer(selectors.storage_use()).data)


class StorageCollectView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="storage_collect", request=None, responses=StorageCollectSerializer)
    def post(self, request: Request) -> Response:
        """Remove what nothing has named for a day, now instead of within six hours."""
        removed = blobs.blobs_collect(now=timezone.now(), actor=request.user.get_username())
        return Response(StorageCollectSerializer({"removed": removed}).data)
