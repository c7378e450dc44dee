"""Shapes of what a deployment captures. What is out of range is refused by ``Capture`` itself."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.deployments.capturing import (
    COLLECTIONS,
    LONGEST_NAME,
    MOST_FIELDS,
    Capture,
    capture_to_json,
)

Fields = serializers.Serializer[Any]
DEFAULT = capture_to_json(Capture())


def _names(help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_NAME),
        max_length=MOST_FIELDS,
        required=False,
        default=list,
        help_text=help_text,
    )


def _number(name: str, help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(required=False, default=DEFAULT[name], help_text=help_text)


@extend_schema_serializer(component_name="Capture")
class CaptureSerializer(Fields):
    sampling_rate = serializers.FloatField(
        required=False,
        default=DEFAULT["sampling_rate"],
        help_text="share of the requests, above 0, 1 for all",
    )
    collections = serializers.ListField(
        child=serializers.ChoiceField(choices=COLLECTIONS),
        required=False,
        default=lambda: list(COLLECTIONS),
    )
    drop = _names("inputs and outputs that are left out")
    hash = _names("inputs and outputs of which only keyed digests are kept")
    max_request_bytes = _number(
        "max_request_bytes", "of one request's tensors; those that do not fit are left out"
    )
    roll_seconds = _number("roll_seconds", "a file is finished after so long")
    keep_days = _number("keep_days", "files and statistics are removed after so long")
    keep_bytes = _number("keep_bytes", "of all files of the deployment; the oldest go first")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # why not as an attribute: REST framework's serializers have one of this name
        said = _names("inputs and outputs that are captured; empty: all of them")
        return {**super().get_fields(), "fields": said}
