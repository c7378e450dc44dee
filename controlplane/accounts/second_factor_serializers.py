"""Shapes of second factors on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.accounts.serializers import CODE_CHARS, PasswordField

Fields = serializers.Serializer[Any]


class CodeSerializer(Fields):
    code = serializers.CharField(
        max_length=CODE_CHARS, help_text="what the app shows, or a recovery code"
    )


class FactorBeginSerializer(Fields):
    password = PasswordField()


class PasswordAndCodeSerializer(CodeSerializer):
    password = PasswordField()


class FactorSerializer(Fields):
    state = serializers.ChoiceField(
        choices=("on", "off", "missing", "elsewhere"),
        help_text="missing: the installation wants one of this role, and nothing else opens before;"
        " elsewhere: whoever signs this account in asks for one, or not",
    )
    recovery_codes_left = serializers.IntegerField()


class FactorBegunSerializer(Fields):
    secret = serializers.CharField(help_text="base32, to be typed; shown only in this answer")
    uri = serializers.CharField(help_text="`otpauth://`, the same for apps")
    qr_svg = serializers.CharField(help_text="the same as a picture: an `svg` element")


class RecoveryCodesSerializer(Fields):
    recovery_codes = serializers.ListField(
        child=serializers.CharField(), help_text="shown only in this answer; each opens once"
    )
