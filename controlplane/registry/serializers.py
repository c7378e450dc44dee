"""Shapes of uploads, models and configurations on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from controlplane.core.requests import Change
from controlplane.registry.code_state import STATES, upload_code, version_code
from controlplane.registry.models import Model, ModelVersion, Upload
from controlplane.registry.types import CHUNK_BYTES, EMPTY_SHA256, LIMIT_FILES, STEP_TITLES

Fields = serializers.Serializer[Any]
SHA256 = r"^[0-9a-f]{64}$"


class FileEntrySerializer(Fields):
    path = serializers.CharField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField()


class TensorSpecSerializer(Fields):
    name = serializers.CharField()
    datatype = serializers.CharField()
    shape = serializers.ListField(child=serializers.IntegerField(), help_text="-1 where unknown")
    optional = serializers.BooleanField(required=False)
    labels = serializers.ListField(child=serializers.CharField(), allow_null=True, required=False)


@extend_schema_field({"type": "array", "items": {"type": ["integer", "string"]}})
class GraphShapeField(serializers.JSONField):
    """A graph's raw shape: numbers, -1, or the symbolic name of an axis."""


SEVERITIES = "info: a note; nothing is wrong"


class GraphTensorSerializer(Fields):
    name = serializers.CharField()
    datatype = serializers.CharField()
    shape = GraphShapeField()


class ArgumentSerializer(Fields):
    name = serializers.CharField()
    type = serializers.CharField()


class GraphSerializer(Fields):
    """What the file itself tells. `complete` is false where it does not tell all tensors."""

    backend = serializers.CharField(required=False)
    complete = serializers.BooleanField(required=False)
    arguments = ArgumentSerializer(many=True, required=False, help_text="TorchScript's forward")
    reads = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="names in Python code"
    )
    writes = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="names in Python code"
    )
    inputs = GraphTensorSerializer(many=True)
    outputs = GraphTensorSerializer(many=True)
    producer = serializers.CharField(required=False, allow_blank=True)
    opset = serializers.IntegerField(required=False, allow_null=True)


class ProposalSerializer(Fields):
    text = serializers.CharField(help_text="a config.pbtxt that would do")
    certain = serializers.BooleanField(help_text="false: types and shapes in it are guesses")


class InspectedModelSerializer(Fields):
    name = serializers.CharField()
    backend = serializers.CharField()
    platform = serializers.CharField(allow_blank=True)
    versions = serializers.ListField(child=serializers.IntegerField())
    max_batch_size = serializers.IntegerField()
    decoupled = serializers.BooleanField(required=False)
    inputs = TensorSpecSerializer(many=True)
    outputs = TensorSpecSerializer(many=True)
    config_text = serializers.CharField(allow_blank=True)
    config_effective = serializers.CharField(allow_blank=True)
    graph = GraphSerializer(allow_null=True)
    provenance = serializers.DictField(child=serializers.CharField(), required=False)
    files = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    proposal = ProposalSerializer(allow_null=True, required=False)


class ConfigFixSerializer(Fields):
    label = serializers.CharField()  # type: ignore[assignment]  # a wire field, as in the contract
    text = serializers.CharField(help_text="the whole corrected text")


class InspectionProblemSerializer(Fields):
    scope = serializers.ChoiceField(
        choices=["config", "files"], required=False, help_text="config: another text mends it"
    )
    line = serializers.IntegerField(required=False, help_text="0 where there is no place")
    field = serializers.CharField(required=False, allow_blank=True)
    fix = ConfigFixSerializer(allow_null=True, required=False)
    severity = serializers.ChoiceField(choices=["error", "warning", "info"], help_text=SEVERITIES)
    model = serializers.CharField(allow_null=True, allow_blank=True)
    code = serializers.CharField()
    message = serializers.CharField(help_text="in Triton's words where it has some")
    plain = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="the same in one plain sentence, if there is one",
    )
    detail = serializers.CharField(allow_null=True, allow_blank=True)
    hints = serializers.ListField(child=serializers.CharField())


class InspectionSerializer(Fields):
    models = InspectedModelSerializer(many=True)
    problems = InspectionProblemSerializer(many=True)


class CodeReasonSerializer(Fields):
    file = serializers.CharField()
    kind = serializers.ChoiceField(choices=["python", "library", "pickle", "environment"])
    message = serializers.CharField(help_text="one sentence for people")


class CodeSerializer(Fields):
    """Whether it brings code that nodes would run, and whether that may run here."""

    state = serializers.ChoiceField(
        choices=list(STATES),
        help_text="none: no code; waiting: for an approval; refused: by SHOAL_CODE_POLICY",
    )
    reasons = CodeReasonSerializer(many=True)
    approved_by = serializers.CharField(allow_null=True)
    approved_at = serializers.DateTimeField(allow_null=True)


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
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()

    @extend_schema_field(CodeSerializer)
    def get_code(self, upload: Upload) -> dict[str, Any]:
        return dict(CodeSerializer(upload_code(upload)).data)

    def get_chunk_size(self, upload: Upload) -> int:
        del upload
        return CHUNK_BYTES


class AnnouncedFileSerializer(Fields):
    path = serializers.CharField(
        max_length=4096, trim_whitespace=False, help_text="a folder ends with a slash"
    )
    size = serializers.IntegerField(min_value=0)
    sha256 = serializers.RegexField(SHA256, default=EMPTY_SHA256)


class UploadInputSerializer(Fields):
    filename = serializers.CharField(max_length=255)
    size = serializers.IntegerField(min_value=1, required=False)
    sha256 = serializers.RegexField(SHA256, required=False, default="")
    files = serializers.ListField(
        child=AnnouncedFileSerializer(), required=False, min_length=1, max_length=LIMIT_FILES
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("size" in attrs) == ("files" in attrs):
            raise serializers.ValidationError("Give `size` of one file, or a list of `files`.")
        if attrs.get("files") and attrs["sha256"]:
            raise serializers.ValidationError("`sha256` goes with `size`; each of `files` has one.")
        return attrs


class MissingFileSerializer(FileEntrySerializer):
    offset = serializers.IntegerField(help_text="bytes that have arrived")


class MissingFilesSerializer(Fields):
    items = MissingFileSerializer(many=True)


class UploadCompleteSerializer(Fields):
    sha256 = serializers.RegexField(SHA256, required=False, default="")


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


class ConfigRevisionSerializer(Fields):
    number = serializers.IntegerField()
    base = serializers.IntegerField(help_text="the revision that was edited, 0: the files")
    configs = serializers.DictField(
        child=serializers.CharField(), help_text="repo model name -> config.pbtxt"
    )
    message = serializers.CharField(allow_blank=True)
    author = serializers.CharField()
    created_at = serializers.DateTimeField()


class ModelVersionSummarySerializer(Fields):
    """As lists show it: its files are counted, not named."""

    model = serializers.CharField(source="model.name")
    version = serializers.IntegerField()
    type = serializers.CharField()
    digest = serializers.CharField()
    size = serializers.IntegerField()
    file_count = serializers.SerializerMethodField()
    source_filename = serializers.CharField(allow_blank=True)
    description = serializers.CharField(allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True))
    declared = serializers.DictField(help_text="kept and given back as it came")
    warnings = serializers.ListField(child=serializers.CharField())
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    archived = serializers.BooleanField()
    aliases = serializers.SerializerMethodField()
    repo_models = RepoModelSerializer(many=True)
    config_revisions = ConfigRevisionSerializer(many=True)
    code = serializers.SerializerMethodField()
    used_by = serializers.ListField(child=serializers.CharField(), help_text="endpoint names")

    @extend_schema_field(CodeSerializer)
    def get_code(self, version: ModelVersion) -> dict[str, Any]:
        return dict(CodeSerializer(version_code(version)).data)

    def get_aliases(self, version: ModelVersion) -> list[str]:
        return sorted(alias.name for alias in version.aliases.all())

    def get_file_count(self, version: ModelVersion) -> int:
        return len(version.manifest)


class ModelVersionSerializer(ModelVersionSummarySerializer):
    manifest = FileEntrySerializer(many=True)


class ModelSerializer(Fields):
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField())
    latest_version = serializers.IntegerField()
    archived = serializers.BooleanField()
    aliases = serializers.SerializerMethodField(help_text="alias -> version")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    latest = ModelVersionSummarySerializer(allow_null=True)
    used_by = serializers.ListField(child=serializers.CharField(), help_text="endpoint names")

    def get_aliases(self, model: Model) -> dict[str, int]:
        return {alias.name: alias.version.version for alias in model.aliases.all()}


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


class RepoModelConfigSerializer(Fields):
    model = serializers.CharField()
    text = serializers.CharField(allow_blank=True, help_text="config.pbtxt verbatim")
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a wire field
        choices=["revision", "file", "none"]
    )
    revision = serializers.IntegerField(help_text="0: the files themselves")
    effective = serializers.CharField(
        allow_blank=True, help_text="the complete configuration, as the runtime would have it"
    )
    problems = serializers.ListField(child=serializers.DictField())
    config = serializers.DictField(
        allow_null=True, help_text="the text as JSON, null if unreadable"
    )


class ConfigRevisionInputSerializer(Fields):
    configs = serializers.DictField(
        child=serializers.CharField(
            allow_blank=True, allow_null=True, max_length=2**20, trim_whitespace=False
        ),
        help_text="repo model name -> config.pbtxt; null takes the edit of that model back",
    )
    message = serializers.CharField(required=False, default="", allow_blank=True, max_length=255)
    base = serializers.IntegerField(
        required=False, default=None, allow_null=True, min_value=0, help_text="default: the latest"
    )


class ConfigRevisionListSerializer(Fields):
    items = ConfigRevisionSerializer(many=True)


class ConfigDiffSerializer(Fields):
    old = serializers.IntegerField(help_text="0: the files")
    new = serializers.IntegerField()
    diffs = serializers.DictField(
        child=serializers.CharField(), help_text="repo model name -> unified diff"
    )


class StorageSerializer(Fields):
    blobs = serializers.IntegerField()
    bytes = serializers.IntegerField()
    unused_blobs = serializers.IntegerField()
    unused_bytes = serializers.IntegerField()


class StorageCollectSerializer(Fields):
    removed = serializers.IntegerField(help_text="blobs that went; younger than a day stay")


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
    configs = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=2**20, trim_whitespace=False),
        required=False,
        default=dict,
        help_text="repo model name -> edited config.pbtxt",
    )
    apply_fixes = serializers.BooleanField(
        required=False, default=False, help_text="take every `proposal` of the inspection"
    )


class ModelVersionPatchSerializer(Change):
    empty = {"description": "", "tags": {}, "declared": {}}

    description = serializers.CharField(required=False, allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    declared = serializers.DictField(required=False)


class ConfigValidateInputSerializer(Fields):
    text = serializers.CharField(allow_blank=True, max_length=2**20, trim_whitespace=False)
    repo_model = serializers.CharField(max_length=255)
    upload_id = serializers.CharField(required=False, default="")
    model = serializers.CharField(required=False, default="")
    version = serializers.CharField(required=False, default="latest")
    others = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=2**20, trim_whitespace=False),
        required=False,
        default=dict,
        help_text="unsaved texts of other models beside it: ensembles are checked against these",
    )


class ConfigProblemSerializer(Fields):
    severity = serializers.ChoiceField(choices=["error", "warning", "info"], help_text=SEVERITIES)
    code = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    column = serializers.IntegerField(allow_null=True)
    field = serializers.CharField(allow_null=True, allow_blank=True)
    message = serializers.CharField(help_text="in Triton's words where it has some")
    plain = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="the same in one plain sentence, if there is one",
    )
    hint = serializers.CharField(allow_null=True, allow_blank=True)
    fix = ConfigFixSerializer(allow_null=True)


class ConfigValidationSerializer(Fields):
    ok = serializers.BooleanField()
    problems = ConfigProblemSerializer(many=True)
    config = serializers.DictField(allow_null=True)
    effective = serializers.CharField(allow_blank=True, allow_null=True)


class ConfigRenderInputSerializer(Fields):
    config = serializers.DictField()


class ConfigTextSerializer(Fields):
    text = serializers.CharField()
