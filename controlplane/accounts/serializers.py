"""Shapes of people, sessions and tokens on the wire."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils import timezone
from rest_framework import serializers

from controlplane.accounts.models import ApiToken, BrowserSession, Membership, User
from controlplane.accounts.policy import SCOPES, Permission

LONGEST_LIFE = timedelta(days=3650)
CODE_CHARS = 64  # recovery codes have 19, and people put more between them


class PasswordField(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 1024, "trim_whitespace": False, **options})


class ProjectField(serializers.CharField):
    """Which project something new belongs to; what is there stays where it is."""

    def __init__(self, **options: Any) -> None:
        told: dict[str, Any] = {
            "required": False,
            "default": "",
            "allow_blank": True,
            "max_length": 32,
            "help_text": "of something new; default: the only one that you have a role in, or "
            "`default`",
        }
        super().__init__(**told, **options)


PERMISSIONS = [each.value for each in Permission]


class SessionProjectSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=Membership.Role.choices)
    permissions = serializers.ListField(child=serializers.ChoiceField(choices=PERMISSIONS))


class SessionUserSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    role = serializers.ChoiceField(choices=User.Role.choices)
    permissions = serializers.ListField(
        child=serializers.ChoiceField(choices=PERMISSIONS),
        help_text="What the role allows, and the token if one was used",
    )
    projects = SessionProjectSerializer(
        many=True, help_text="Those that the account has a role in, beside that in all of them"
    )
    sign_in = serializers.ChoiceField(
        choices=User.SignIn.choices, help_text="How this account proves itself"
    )
    second_factor = serializers.ChoiceField(
        choices=("on", "off", "missing", "elsewhere"),
        help_text="missing: a browser may set one up, and nothing else; elsewhere: not kept here",
    )


class SignInWaysSerializer(serializers.Serializer[Any]):
    passwords = serializers.BooleanField(help_text="Whether people sign in by password")
    oidc = serializers.CharField(
        allow_null=True, help_text="Name of the provider behind /oidc/login; null: there is none"
    )


class SessionSerializer(serializers.Serializer[Any]):
    authenticated = serializers.BooleanField()
    user = SessionUserSerializer(allow_null=True)
    csrf_token = serializers.CharField()
    version = serializers.CharField()
    ways = SignInWaysSerializer(help_text="How people can sign in here")


class SessionClosedSerializer(serializers.Serializer[Any]):
    provider_logout_url = serializers.CharField(
        help_text="Where the browser ends its session at the provider, too"
    )


class CredentialsSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    password = PasswordField()
    code = serializers.CharField(
        max_length=CODE_CHARS,
        required=False,
        allow_blank=True,
        default="",
        help_text="Of the second factor, where the account has one: `CodeNeeded` says so",
    )


class SetupStateSerializer(serializers.Serializer[Any]):
    open = serializers.BooleanField(help_text="nobody has set the installation up yet")


class SetupSerializer(serializers.Serializer[Any]):
    token = serializers.CharField(max_length=200, help_text="what follows `#` in the printed link")
    username = serializers.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    password = PasswordField(help_text="8 characters or more")


class PasswordChangeSerializer(serializers.Serializer[Any]):
    current = PasswordField()
    password = PasswordField(help_text="The new one, 8 characters or more")


class BrowserSessionSerializer(serializers.ModelSerializer[BrowserSession]):
    current = serializers.SerializerMethodField(help_text="The one that asks")

    class Meta:
        model = BrowserSession
        fields = ["id", "address", "agent", "created_at", "last_seen_at", "current"]
        read_only_fields = fields

    def get_current(self, row: BrowserSession) -> bool:
        return row.session_key == self.context.get("session_key")


class UserSerializer(serializers.ModelSerializer[User]):
    active = serializers.BooleanField(source="is_active")
    created_at = serializers.DateTimeField(source="date_joined")
    last_seen_at = serializers.DateTimeField(
        allow_null=True, default=None, help_text="Of a browser; tokens have their own"
    )
    token_count = serializers.IntegerField(default=0)
    second_factor = serializers.BooleanField(
        source="has_second_factor", default=False, help_text="Whether sign-in asks for a code"
    )

    class Meta:
        model = User
        fields = [
            "username",
            "role",
            "active",
            "sign_in",
            "created_at",
            "last_login",
            "last_seen_at",
            "token_count",
            "second_factor",
        ]
        read_only_fields = fields


class UserInputSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    role = serializers.ChoiceField(choices=User.Role.choices)
    password = PasswordField(
        required=False, allow_null=True, default=None, help_text="Absent: one is made up"
    )


class UserPatchSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=User.Role.choices, required=False)
    active = serializers.BooleanField(required=False)
    sign_in = serializers.ChoiceField(
        choices=[
            each.value for each in (User.SignIn.PASSWORD, User.SignIn.OIDC, User.SignIn.HEADER)
        ],
        required=False,
        help_text="`oidc`, `header`: whoever next comes from there with this name has the account",
    )


class PasswordSetSerializer(serializers.Serializer[Any]):
    password = PasswordField(
        required=False, allow_null=True, default=None, help_text="Absent: one is made up"
    )


class PasswordMadeSerializer(serializers.Serializer[Any]):
    password = serializers.CharField(
        allow_null=True, help_text="The one that was made up, shown only in this answer; else null"
    )


class NewUserSerializer(UserSerializer):
    password = serializers.CharField(
        allow_null=True, help_text="The one that was made up, shown only in this answer; else null"
    )

    class Meta(UserSerializer.Meta):
        fields = [*UserSerializer.Meta.fields, "password"]
        read_only_fields = fields


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=[each.value for each in SCOPES]),
        help_text="Empty: all that its user may do",
    )

    class Meta:
        model = ApiToken
        fields = ["id", "name", "prefix", "scopes", "created_at", "expires_at", "last_used_at"]
        read_only_fields = fields


class TokenInputSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=[each.value for each in SCOPES]),
        required=False,
        allow_null=True,
        # why not empty: who takes the last scope away from a token does not ask for all of them
        allow_empty=False,
        min_length=1,
        default=None,
        error_messages={
            "empty": "expected at least one scope (read alone is the least), or null or "
            "no scopes at all for a token that may do all that its user may.",
        },
        help_text="Null, or left out: all that its user may do",
    )
    expires_at = serializers.DateTimeField(
        required=False, allow_null=True, default=None, help_text="Null: until it is revoked"
    )

    def validate_expires_at(self, value: Any) -> Any:
        now = timezone.now()
        if value is not None and not now < value <= now + LONGEST_LIFE:
            raise serializers.ValidationError("Must lie in the future, at most ten years away.")
        return value


class NewTokenSerializer(TokenSerializer):
    token = serializers.CharField(help_text="The token itself; shown only in this answer")

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "token"]
        read_only_fields = fields
