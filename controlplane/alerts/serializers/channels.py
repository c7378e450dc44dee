"""Shapes of channels and of what was sent to them."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.alerts.types import ChannelKind, DeliveryStatus, Severity

Fields = serializers.Serializer[Any]


class ChannelFields(Fields):
    enabled = serializers.BooleanField(required=False)
    url = serializers.CharField(
        required=False, max_length=2000, help_text="sealed; never shown again"
    )
    secret = serializers.CharField(
        required=False, max_length=200, trim_whitespace=False,
        help_text="of a webhook's signature; one is made where it is left out",
    )  # fmt: skip
    recipients = serializers.ListField(
        child=serializers.CharField(max_length=254), required=False, help_text="of e-mail"
    )
    severities = serializers.ListField(
        child=serializers.ChoiceField(choices=Severity.choices), required=False,
        help_text="empty: all",
    )  # fmt: skip
    projects = serializers.ListField(
        child=serializers.CharField(max_length=32), required=False,
        help_text="whose alerts; empty: all, and those of the installation",
    )  # fmt: skip


@extend_schema_serializer(component_name="ChannelInput")
class ChannelInputSerializer(ChannelFields):
    name = serializers.CharField(max_length=64)
    kind = serializers.ChoiceField(choices=ChannelKind.choices)


@extend_schema_serializer(component_name="ChannelChange")
class ChannelChangeSerializer(ChannelFields):
    """What is left out stays."""


@extend_schema_serializer(component_name="ChannelCompare")
class ChannelCompareSerializer(Fields):
    url = serializers.CharField(required=False, max_length=2000)
    secret = serializers.CharField(required=False, max_length=200, trim_whitespace=False)


@extend_schema_serializer(component_name="ChannelDifferences")
class ChannelDifferencesSerializer(Fields):
    different = serializers.ListField(
        child=serializers.ChoiceField(choices=["url", "secret"]),
        help_text="what is another one than what is kept, or is not kept",
    )


@extend_schema_serializer(component_name="Channel")
class ChannelSerializer(Fields):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=ChannelKind.choices)
    enabled = serializers.BooleanField()
    address = serializers.CharField(allow_blank=True, help_text="of the URL: scheme and host")
    recipients = serializers.ListField(child=serializers.CharField())
    severities = serializers.ListField(child=serializers.CharField())
    projects = serializers.ListField(child=serializers.CharField())
    signed = serializers.BooleanField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="ChannelMade")
class ChannelMadeSerializer(ChannelSerializer):
    secret = serializers.CharField(
        allow_blank=True, help_text="of the signature, where it was made here: shown this once"
    )


@extend_schema_serializer(component_name="DeliveryTry")
class TrySerializer(Fields):
    at = serializers.DateTimeField()
    ms = serializers.FloatField()
    status = serializers.IntegerField(allow_null=True, help_text="of HTTP")
    error = serializers.CharField(allow_blank=True, help_text="empty: it was taken")


@extend_schema_serializer(component_name="Delivery")
class DeliverySerializer(Fields):
    id = serializers.CharField()
    channel = serializers.CharField()
    event = serializers.CharField(help_text="firing, resolved or test")
    alert = serializers.CharField(allow_blank=True)
    status = serializers.ChoiceField(choices=DeliveryStatus.choices)
    attempts = serializers.IntegerField()
    next_at = serializers.DateTimeField(allow_null=True, help_text="of the next try")
    created_at = serializers.DateTimeField()
    delivered_at = serializers.DateTimeField(allow_null=True)
    replay_of = serializers.CharField(allow_blank=True)
    log = TrySerializer(many=True)
    message = serializers.DictField(child=serializers.JSONField())
