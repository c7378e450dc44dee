"""Shapes of drafts on the wire."""

import json
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

Fields = serializers.Serializer[Any]
LIMIT_BYTES = 2**20


@extend_schema_serializer(component_name="DraftSummary")
class DraftSummarySerializer(Fields):
    id = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    upload_id = serializers.CharField(allow_blank=True)
    revision = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="Draft")
class DraftSerializer(DraftSummarySerializer):
    data = serializers.DictField()  # type: ignore[assignment]  # a wire field


class DraftInputSerializer(Fields):
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=255)
    upload_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=32)
    data = serializers.DictField(  # type: ignore[assignment]  # a wire field
        required=False, default=dict, help_text="kept as it comes; 1 MiB at most"
    )

    def validate_data(self, value: dict[str, Any]) -> dict[str, Any]:
        if len(json.dumps(value)) > LIMIT_BYTES:
            raise serializers.ValidationError(f"More than {LIMIT_BYTES} bytes.")
        return value


class DraftSaveSerializer(DraftInputSerializer):
    revision = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        help_text="the one that you changed; 409 `DraftChanged` when another is kept",
    )
