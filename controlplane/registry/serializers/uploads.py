"""Shapes of uploads and of the storage on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.accounts.serializers import ProjectField
from controlplane.registry.code_state import upload_code
from controlplane.registry.models import Upload
from controlplane.registry.serializers.inspection import (
    CodeSerializer,
    FileEntrySerializer,
    InspectionSerializer,
)
from controlplane.registry.serializers.lineage import LineageSerializer, lineage_shown
from controlplane.registry.sources.addresses import EXPECTED, LONGEST
from controlplane.registry.types import CHUNK_BYTES, EMPTY_SHA256, LIMIT_FILES, STEP_TITLES

Fields = serializers.Serializer[Any]
MOST_WRONG = 10  # files of a list that are named at once
SHA256 = r"^[0-9a-f]{64}$"


class UploadErrorSerializer(Fields):
    code = serializers.CharField()
    message = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    hints = serializers.ListField(child=serializers.CharField())


class UploadStepSerializer(Fields):
    name = serializers.ChoiceField(choices=list(STEP_TITLES))
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=["pending", "running", "succeeded", "failed"])
    detail = serializers.CharField(allow_blank=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class UploadSerializer(Fields):
    id = serializers.CharField()
    project = serializers.CharField(source="project_id")
    filename = serializers.CharField()
    size = serializers.IntegerField()
    offset = serializers.IntegerField()
    chunk_size = serializers.SerializerMethodField()
    sha256 = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=Upload.State.choices)
    steps = UploadStepSerializer(many=True)
    inspection = InspectionSerializer(allow_null=True)
    code = serializers.SerializerMethodField()
    manifest = FileEntrySerializer(many=True)
    error = UploadErrorSerializer(allow_null=True)
    lineage = serializers.SerializerMethodField(help_text="of an import; else null")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()

    @extend_schema_field(CodeSerializer)
    def get_code(self, upload: Upload) -> dict[str, Any]:
        return dict(CodeSerializer(upload_code(upload)).data)

    @extend_schema_field(LineageSerializer(allow_null=True))
    def get_lineage(self, upload: Upload) -> dict[str, Any] | None:
        return lineage_shown(upload.lineage)

    def get_chunk_size(self, upload: Upload) -> int:
        del upload
        return CHUNK_BYTES


class AnnouncedFileSerializer(Fields):
    path = serializers.CharField(
        max_length=4096, trim_whitespace=False, help_text="a folder ends with a slash"
    )
    size = serializers.IntegerField(min_value=0)
    sha256 = serializers.RegexField(SHA256, default=EMPTY_SHA256)


class AnnouncedFilesField(serializers.ListField):
    """Counted before it is read, and read until some are wrong: both cost a second for all."""

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        if len(data) > LIMIT_FILES:
            self.fail("max_length", max_length=LIMIT_FILES)
        files: list[Any] = []
        errors: dict[int, Any] = {}
        for index, item in enumerate(data):
            try:
                files.append(self.child.run_validation(item))
            except serializers.ValidationError as error:
                errors[index] = error.detail
                if len(errors) == MOST_WRONG:
                    break
        if errors:
            raise serializers.ValidationError(errors)  # type: ignore[arg-type] # as DRF's own list
        return files


class UploadInputSerializer(Fields):
    filename = serializers.CharField(max_length=255)
    size = serializers.IntegerField(min_value=1, required=False)
    sha256 = serializers.RegexField(SHA256, required=False, default="")
    project = ProjectField()
    files = AnnouncedFilesField(
        child=AnnouncedFileSerializer(), required=False, min_length=1, max_length=LIMIT_FILES
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("size" in attrs) == ("files" in attrs):
            raise serializers.ValidationError("Give `size` of one file, or a list of `files`.")
        if attrs.get("files") and attrs["sha256"]:
            raise serializers.ValidationError("`sha256` goes with `size`; each of `files` has one.")
        return attrs


class ImportInputSerializer(Fields):
    address = serializers.CharField(max_length=LONGEST, help_text=" ".join(EXPECTED))
    project = ProjectField()


class MissingFileSerializer(FileEntrySerializer):
    offset = serializers.IntegerField(help_text="bytes that have arrived")


class MissingFilesSerializer(Fields):
    items = MissingFileSerializer(many=True)


class UploadCompleteSerializer(Fields):
    sha256 = serializers.RegexField(SHA256, required=False, default="")


class StorageSerializer(Fields):
    blobs = serializers.IntegerField()
    bytes = serializers.IntegerField()
    unused_blobs = serializers.IntegerField()
    unused_bytes = serializers.IntegerField()


class StorageCollectSerializer(Fields):
    removed = serializers.IntegerField(help_text="blobs that went; younger than a day stay")
