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
    served_source = serializers.ChoiceField(
        choices=("installation", "supplied", "self", ""),
        help_text="who signed what its Envoy shows to clients: the installation's authority "
        "(`GET /ca`), whoever an operator chose, or nobody but itself; empty: it has not said",
    )
    served_ends_at = serializers.DateTimeField(allow_null=True)


class GatewayListSerializer(Fields):
    items = GatewaySerializer(many=True)


class TrustedCertificateSerializer(Fields):
    subject = serializers.CharField()
    sha256 = serializers.CharField(help_text="of the certificate, in pairs")
    ends_at = serializers.DateTimeField()
    supplied = serializers.BooleanField(help_text="by SHOAL_GATEWAY_CA_FILE")
    signs = serializers.BooleanField(
        help_text="certificates that are made now lead to it; else it did, or will"
    )


class AuthoritySerializer(Fields):
    certificates = serializers.CharField(
        allow_blank=True,
        help_text="PEM: whom clients of endpoints should trust; empty before a gateway has asked "
        "for a certificate, as where all have one that an operator supplied",
    )
    items = TrustedCertificateSerializer(many=True)
