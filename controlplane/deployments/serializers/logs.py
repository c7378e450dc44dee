"""Shapes of log lines on the wire."""

from datetime import UTC, datetime
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.metrics.log_levels import level_of
from controlplane.metrics.models import LogLine


@extend_schema_field(OpenApiTypes.DATETIME)
class UnixTimeField(serializers.Field[float, float, str, Any]):
    """Unix seconds, shown as RFC 3339 in UTC."""

    def to_representation(self, value: float) -> str:
        return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")


class LogLineSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    at = UnixTimeField(read_only=True)
    replica_id = serializers.CharField()
    stream = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    level = serializers.SerializerMethodField(help_text="`warn`, `error`, or nothing")

    def get_level(self, line: LogLine) -> str:
        return level_of(line.text)


class LogLinesSerializer(serializers.Serializer[Any]):
    lines = LogLineSerializer(many=True)
    last_id = serializers.IntegerField(
        allow_null=True,
        help_text="of all that was searched: `after` this there is only what is new",
    )
