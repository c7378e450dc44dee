"""Shapes of the system page."""

from typing import Any

from rest_framework import serializers

from controlplane.system.types import State

STATES = [state.value for state in State]
KINDS = ["web", "database", "broker", "beat", "worker", "gateway", "agent", "certificate", "disk"]


class FactSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField(allow_blank=True)


class SystemPartSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=STATES)
    summary = serializers.CharField()
    hint = serializers.CharField(allow_blank=True)
    facts = FactSerializer(many=True)
    lag_s = serializers.FloatField(allow_null=True, help_text="how long jobs wait, in seconds")
    depth = serializers.IntegerField(allow_null=True, help_text="jobs that wait")


class SystemSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=STATES, help_text="of the worst part")
    version = serializers.CharField()
    now = serializers.DateTimeField(help_text="the server's clock")
    newest_event_seq = serializers.IntegerField()
    newest_event_at = serializers.DateTimeField(allow_null=True)
    parts = SystemPartSerializer(many=True)
