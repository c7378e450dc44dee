"""Shapes of configurations and their revisions on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.core.etags import etag_of
from controlplane.registry.models import ModelVersion
from controlplane.registry.serializers.inspection import SEVERITIES, ConfigFixSerializer
from controlplane.registry.serializers.versions import VersionField

Fields = serializers.Serializer[Any]


class ConfigRevisionSerializer(Fields):
    number = serializers.IntegerField()
    base = serializers.IntegerField(help_text="the revision that was edited, 0: the files")
    configs = serializers.DictField(
        child=serializers.CharField(), help_text="repo model name -> config.pbtxt"
    )
    message = serializers.CharField(allow_blank=True)
    author = serializers.CharField()
    created_at = serializers.DateTimeField()


def configs_etag(version: ModelVersion) -> str:
    """Which revisions of its configuration somebody has seen: they only ever become more."""
    numbers = [row.number for row in version.config_revisions.all()]
    return etag_of(version.model.name, version.version, "config-revisions", max(numbers, default=0))


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
    problems = ConfigProblemSerializer(many=True)
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


class ConfigValidateInputSerializer(Fields):
    text = serializers.CharField(allow_blank=True, max_length=2**20, trim_whitespace=False)
    repo_model = serializers.CharField(max_length=255)
    upload_id = serializers.CharField(required=False, default="")
    model = serializers.CharField(required=False, default="")
    version = VersionField()
    others = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=2**20, trim_whitespace=False),
        required=False,
        default=dict,
        help_text="unsaved texts of other models beside it: ensembles are checked against these",
    )


class ConfigValidationSerializer(Fields):
    ok = serializers.BooleanField()
    problems = ConfigProblemSerializer(many=True)
    config = serializers.DictField(allow_null=True)
    effective = serializers.CharField(allow_blank=True, allow_null=True)


class ConfigRenderInputSerializer(Fields):
    config = serializers.DictField()


class ConfigTextSerializer(Fields):
    text = serializers.CharField()
