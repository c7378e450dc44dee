"""Gateways as REST shows them."""

from typing import Any

from rest_framework import serializers

Fields = serializers.Serializer[Any]


class GatewaySerializer(Fields):
    name = serializers.CharField()
    state = serializers.ChoiceField(
        choices=("online", "silent"),
        help_text="silent: not heard of for 15 s; its Envoy may serve on by what it has",
    )
    last_seen_at = serializers.DateTimeField(allow_null=True)
    applied_version = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True, help_text="why it does not follow")
    certificate_ends_at = serializers.DateTimeField(allow_null=True)


class GatewayListSerializer(Fields):
    items = GatewaySerializer(many=True)
