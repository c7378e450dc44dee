"""Shapes of trials."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.deployments.serializers.endpoints import ProblemSerializer
from controlplane.deployments.types import RunState
from controlplane.registry.serializers.versions import VersionField

Fields = serializers.Serializer[Any]
LARGEST_CONFIG = 2**20


class TryLoadInputSerializer(Fields):
    model = serializers.CharField(required=False, default="", allow_blank=True, max_length=255)
    version = VersionField()
    upload_id = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=32,
        help_text="instead of a model: an upload that is ready and not registered yet",
    )
    config_revision = serializers.IntegerField(required=False, allow_null=True, default=None)
    configs = serializers.DictField(
        child=serializers.CharField(
            allow_blank=True, max_length=LARGEST_CONFIG, trim_whitespace=False
        ),
        required=False,
        default=dict,
        help_text="repository model -> config.pbtxt text that is tried without being saved",
    )
    node = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=100,
        help_text="default: where it would be placed",
    )
    instance_type = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=64
    )
    timeout_s = serializers.IntegerField(
        required=False, default=300, min_value=5, max_value=3600, help_text="downloading included"
    )
    only_approved = serializers.BooleanField(
        required=False,
        default=False,
        help_text="refuse code that nobody has approved, also where you may have it run",
    )


@extend_schema_serializer(component_name="TryLoad")
class TryLoadSerializer(Fields):
    id = serializers.CharField()
    state = serializers.ChoiceField(choices=RunState.choices)
    model = serializers.CharField(allow_null=True)
    version = serializers.IntegerField(allow_null=True)
    config_revision = serializers.IntegerField(allow_null=True)
    upload_id = serializers.CharField(allow_null=True)
    edited = serializers.ListField(
        child=serializers.CharField(), help_text="models that were tried with a text of the caller"
    )
    node = serializers.CharField()
    phase = serializers.CharField(help_text="how far the node is, in the words of replicas")
    downloaded_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField()
    load_seconds = serializers.FloatField(allow_null=True)
    memory_bytes = serializers.IntegerField()
    duration_s = serializers.FloatField()
    effective = serializers.DictField(
        child=serializers.DictField(),
        help_text="repository model -> Triton's ModelConfig as the runtime completed it",
    )
    log = serializers.CharField(allow_blank=True, help_text="the last lines of the runtime")
    error = ProblemSerializer(allow_null=True)
    deadline_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
