"""Shapes of models and their versions on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from controlplane.core.etags import etag_of
from controlplane.core.requests import Change
from controlplane.registry.code_state import version_code
from controlplane.registry.models import Model, ModelVersion
from controlplane.registry.serializers.configs import ConfigRevisionSerializer, configs_etag
from controlplane.registry.serializers.inspection import (
    CodeSerializer,
    FileEntrySerializer,
    TensorSpecSerializer,
)
from controlplane.registry.serializers.lineage import LineageSerializer, lineage_shown

Fields = serializers.Serializer[Any]


@extend_schema_serializer(component_name="RepoModel")
class RepoModelSerializer(Fields):
    name = serializers.CharField()
    backend = serializers.CharField()
    platform = serializers.CharField(allow_blank=True)
    max_batch_size = serializers.IntegerField()
    decoupled = serializers.BooleanField()
    inputs = TensorSpecSerializer(many=True)
    outputs = TensorSpecSerializer(many=True)
    versions = serializers.ListField(child=serializers.IntegerField())
    config_text = serializers.CharField(allow_blank=True)
    config_effective = serializers.CharField(allow_blank=True)


class ModelVersionSummarySerializer(Fields):
    """As lists show it: its files are counted, not named."""

    model = serializers.CharField(source="model.name")
    project = serializers.CharField(source="model.project_id")
    version = serializers.IntegerField()
    type = serializers.CharField()
    digest = serializers.CharField()
    size = serializers.IntegerField()
    file_count = serializers.IntegerField(read_only=True)
    source_filename = serializers.CharField(allow_blank=True)
    lineage = serializers.SerializerMethodField(
        help_text="where it comes from; null where nobody told"
    )
    description = serializers.CharField(allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True))
    declared = serializers.DictField(help_text="kept and given back as it came")
    warnings = serializers.ListField(child=serializers.CharField())
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    archived = serializers.BooleanField()
    aliases = serializers.SerializerMethodField()
    repo_models = RepoModelSerializer(many=True)
    etag = serializers.SerializerMethodField(
        help_text="for `If-Match` of a change of its words: what of it you have seen"
    )
    config_revisions = ConfigRevisionSerializer(many=True)
    config_etag = serializers.SerializerMethodField(
        help_text="for `If-Match` of `POST .../config-revisions`: the revisions that you have seen"
    )
    code = serializers.SerializerMethodField()
    used_by = serializers.ListField(child=serializers.CharField(), help_text="endpoint names")

    @extend_schema_field(LineageSerializer(allow_null=True))
    def get_lineage(self, version: ModelVersion) -> dict[str, Any] | None:
        return lineage_shown(version.lineage, version.stated_lineage)

    def get_etag(self, version: ModelVersion) -> str:
        return etag_of(
            *(version.model.name, version.version, version.description, version.tags),
            *(version.declared, self.get_lineage(version), version.archived),
            self.get_aliases(version),
        )

    def get_config_etag(self, version: ModelVersion) -> str:
        return configs_etag(version)

    @extend_schema_field(CodeSerializer)
    def get_code(self, version: ModelVersion) -> dict[str, Any]:
        return dict(CodeSerializer(version_code(version)).data)

    def get_aliases(self, version: ModelVersion) -> list[str]:
        return sorted(alias.name for alias in version.aliases.all())


class ModelVersionSerializer(ModelVersionSummarySerializer):
    manifest = FileEntrySerializer(many=True)


class ApproveSerializer(Fields):
    config_revision = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=0,
        max_value=10**9 - 1,
        help_text="the newest that was looked at: what later ones name waits on; default: all",
    )


class ModelSerializer(Fields):
    name = serializers.CharField()
    project = serializers.CharField(source="project_id")
    description = serializers.CharField(allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField())
    latest_version = serializers.IntegerField()
    archived = serializers.BooleanField()
    aliases = serializers.SerializerMethodField(help_text="alias -> version")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    latest = ModelVersionSummarySerializer(allow_null=True)
    used_by = serializers.ListField(child=serializers.CharField(), help_text="endpoint names")
    etag = serializers.SerializerMethodField(
        help_text="for `If-Match` of a change of its words: what of it you have seen"
    )

    def get_aliases(self, model: Model) -> dict[str, int]:
        return {alias.name: alias.version.version for alias in model.aliases.all()}

    def get_etag(self, model: Model) -> str:
        return etag_of(
            *(model.name, model.description, model.tags, model.archived),
            *(self.get_aliases(model), model.latest_version),
        )


class ModelPatchSerializer(Change):
    empty = {"description": "", "tags": {}}

    description = serializers.CharField(required=False, allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)


class AliasInputSerializer(Fields):
    version = serializers.CharField(max_length=70, help_text="a number, or another alias")


class UsageSerializer(Fields):
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    current = serializers.BooleanField(help_text="false: only an earlier revision of it")
    config_revision = serializers.IntegerField(allow_null=True)
    revisions = serializers.ListField(
        child=serializers.IntegerField(), help_text="earlier revisions that may be gone back to"
    )


class FileListSerializer(Fields):
    digest = serializers.CharField()
    items = FileEntrySerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ModelInputSerializer(Fields):
    name = serializers.CharField(max_length=255)
    upload_id = serializers.CharField(max_length=32)
    version = serializers.IntegerField(
        required=False,
        default=None,
        min_value=1,
        max_value=2**31 - 1,
        allow_null=True,
        help_text="default: the next",
    )
    description = serializers.CharField(required=False, default="", allow_blank=True)
    tags = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, default=dict
    )
    declared = serializers.DictField(required=False, default=dict)
    lineage = LineageSerializer(required=False, default=None, allow_null=True)
    configs = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=2**20, trim_whitespace=False),
        required=False,
        default=dict,
        help_text="repo model name -> edited config.pbtxt",
    )
    apply_fixes = serializers.BooleanField(
        required=False, default=False, help_text="take every `proposal` of the inspection"
    )
    same_tensors = serializers.BooleanField(
        required=False,
        default=False,
        help_text="409 `TensorsDiffer` where the newest version has other inputs and outputs: "
        "`newest` is its number, `there` and `here` tell both",
    )


class ModelVersionInputSerializer(ModelInputSerializer):
    """The model's name stands in the path."""

    name = None  # type: ignore[assignment] # DRF's way to leave a field of the base out


class ModelVersionPatchSerializer(Change):
    empty = {"description": "", "tags": {}, "declared": {}, "lineage": {}}

    description = serializers.CharField(required=False, allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    declared = serializers.DictField(required=False)
    lineage = LineageSerializer(
        required=False, help_text="stands for all that was stated before; null takes it away"
    )
