"""Shapes of probes, with Azure's names and defaults."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.deployments.serializers.ranges import RangeField

Fields = serializers.Serializer[Any]
LONGEST_S = 3600


def _seconds(default: int, help_text: str, *, least: int = 1) -> serializers.IntegerField:
    return RangeField(
        required=False, default=default, least=least, most=LONGEST_S, help_text=help_text
    )


def _times(default: int) -> serializers.IntegerField:
    return RangeField(
        required=False, default=default, least=1, most=1000, help_text="answers in a row"
    )


@extend_schema_serializer(component_name="Probe")
class ProbeSerializer(Fields):
    initial_delay = _seconds(10, "seconds from the start to the first question", least=0)
    period = _seconds(10, "seconds between questions")
    timeout = _seconds(2, "seconds that an answer may take")
    success_threshold = _times(1)
    failure_threshold = _times(30)
