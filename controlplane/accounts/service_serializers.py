"""Shapes of service accounts on the wire."""

from typing import Any

from django.contrib.auth.validators import UnicodeUsernameValidator
from rest_framework import serializers

from controlplane.accounts.models import ApiToken, User

LONGEST_OVERLAP_S = 30 * 86_400
DAYS_HELP = "Days that the token works; null, or left out: SHOAL_SERVICE_TOKEN_DAYS"


class ServiceTokenSerializer(serializers.ModelSerializer[ApiToken]):
    class Meta:
        model = ApiToken
        fields = ["prefix", "created_at", "expires_at", "last_used_at"]
        read_only_fields = fields


class ServiceAccountSerializer(serializers.ModelSerializer[User]):
    name = serializers.CharField(source="username")
    created_at = serializers.DateTimeField(source="date_joined")
    tokens = ServiceTokenSerializer(
        many=True, source="live_tokens", help_text="Those that still work, newest first"
    )

    class Meta:
        model = User
        fields = ["name", "role", "created_at", "tokens"]
        read_only_fields = fields


class NewServiceAccountSerializer(ServiceAccountSerializer):
    token = serializers.CharField(help_text="The token itself; shown only in this answer")

    class Meta(ServiceAccountSerializer.Meta):
        fields = [*ServiceAccountSerializer.Meta.fields, "token"]
        read_only_fields = fields


class ServiceAccountInputSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    role = serializers.ChoiceField(choices=User.Role.choices)
    days = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, help_text=DAYS_HELP
    )


class ServiceAccountPatchSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=User.Role.choices)


class ServiceAccountRotateSerializer(serializers.Serializer[Any]):
    days = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, help_text=DAYS_HELP
    )
    overlap_s = serializers.IntegerField(
        required=False,
        default=86_400,
        min_value=0,
        max_value=LONGEST_OVERLAP_S,
        help_text="Seconds that older tokens work on; 0: they end at once",
    )
