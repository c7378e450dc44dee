"""Shapes of sessions and tokens on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.accounts.models import ApiToken, User


class SessionUserSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    role = serializers.ChoiceField(choices=User.Role.choices)


class SessionSerializer(serializers.Serializer[Any]):
    authenticated = serializers.BooleanField()
    user = SessionUserSerializer(allow_null=True)
    csrf_token = serializers.CharField()
    version = serializers.CharField()


class CredentialsSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1024, trim_whitespace=False)


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    class Meta:
        model = ApiToken
        fields = ["id", "name", "prefix", "created_at", "last_used_at"]
        read_only_fields = fields


class TokenInputSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=100)


class NewTokenSerializer(TokenSerializer):
    token = serializers.CharField(help_text="The token itself; shown only in this answer")

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "token"]
        read_only_fields = fields
