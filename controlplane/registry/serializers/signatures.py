"""Shapes of signatures and of the keys that make them on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

Fields = serializers.Serializer[Any]


class SigningKeySerializer(Fields):
    key_id = serializers.CharField(help_text="16 hexadecimal digits, as minisign prints it")
    public_key = serializers.CharField(source="public", help_text="for `minisign -P`")
    comment = serializers.CharField(help_text="whose key it is")
    added_by = serializers.CharField()
    created_at = serializers.DateTimeField()


class SigningKeyListSerializer(Fields):
    items = SigningKeySerializer(many=True)


class SigningKeyInputSerializer(Fields):
    public_key = serializers.CharField(max_length=4096, help_text="the text of a .pub file")
    comment = serializers.CharField(max_length=128, help_text="whose key it is")


@extend_schema_serializer(component_name="ModelSignature")
class ModelSignatureSerializer(Fields):
    key_id = serializers.CharField()
    counts = serializers.BooleanField(help_text="false: its key is not trusted any more")
    comment = serializers.CharField(allow_null=True, help_text="of the trusted key")
    trusted_comment = serializers.CharField(
        allow_blank=True, help_text="what the signer wrote; signed as well"
    )
    uploaded_by = serializers.CharField()
    uploaded_at = serializers.DateTimeField()
    signature = serializers.CharField(help_text="the .minisig file")


class SignaturesSerializer(Fields):
    model = serializers.CharField()
    version = serializers.IntegerField()
    config_revision = serializers.IntegerField(help_text="0: the files as they were registered")
    digest = serializers.CharField(help_text="of all files that would run")
    statement = serializers.CharField(help_text="what is signed, to the last line feed")
    required = serializers.BooleanField(  # type: ignore[assignment]  # a wire field
        help_text="nothing unsigned is deployed or tried here"
    )
    signed = serializers.BooleanField(help_text="by a key that is trusted now")
    items = ModelSignatureSerializer(many=True)


class SignatureInputSerializer(Fields):
    signature = serializers.CharField(
        max_length=16 * 1024, trim_whitespace=False, help_text="the text of a .minisig file"
    )
    config_revision = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=0,
        max_value=10**9 - 1,
        help_text="default: the newest; 0: the files as they were registered",
    )


class SignaturesQuery(Fields):
    config_revision = serializers.IntegerField(
        required=False, default=None, allow_null=True, min_value=0, max_value=10**9 - 1
    )
