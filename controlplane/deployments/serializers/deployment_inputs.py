"""What is sent to make, replace or change a deployment."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.core.requests import Change
from controlplane.deployments.serializers.endpoints import Fields
from controlplane.deployments.serializers.placement import LIMIT_REPLICAS
from controlplane.deployments.serializers.settings import (
    ChangedSettings,
    NewSettings,
    SecretsField,
    emptied,
)
from controlplane.deployments.spec import (
    REVISIONED,
    SETTINGS,
    Applies,
    settings_that,
)
from controlplane.registry.serializers.versions import VersionField

COUNT_HELP = "default: 1, or under a policy (`autoscale`) as many as run, and `min` at least"


class RunFields(NewSettings):
    """What shall run, where, and how it is asked."""

    settings = settings_that(Applies.GATEWAYS, Applies.REPLICAS)

    model = serializers.CharField(max_length=255)
    version = VersionField()
    config_revision = serializers.IntegerField(required=False, allow_null=True, default=None)
    instance_count = serializers.IntegerField(
        required=False, min_value=1, max_value=LIMIT_REPLICAS, help_text=COUNT_HELP
    )


class DeploymentInputSerializer(RunFields):
    settings = tuple(SETTINGS)

    name = serializers.CharField(required=False, default="", allow_blank=True, max_length=32)
    replace = serializers.BooleanField(
        required=False, default=False, help_text="take over an existing one that has no traffic"
    )
    traffic = serializers.IntegerField(required=False, default=0, min_value=0, max_value=100)


class DeployInputSerializer(RunFields):
    endpoint = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=32,
        help_text="default: after the model",
    )
    deployment = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=32,
        help_text="default: blue, or the colour that carries no traffic",
    )
    traffic = serializers.IntegerField(required=False, default=100, min_value=0, max_value=100)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
            {"type": "array", "items": {"type": "string"}},
        ],
        "description": "values by name, null takes one away; or names as they are shown. "
        "Those that are not named stay: nobody can read them to send them back",
    }
)
class KeptSecretsField(SecretsField):
    """Of a deployment that was read: a list of names asks for nothing new."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, list) and all(isinstance(name, str) for name in data):
            return {}
        return super().run_validation(data)


class DeploymentPutSerializer(Change, RunFields):
    """All of it: what is left out, or null, goes to its default."""

    settings = tuple(SETTINGS)
    empty = {**emptied(SETTINGS), "config_revision": 0}

    secret_environment = KeptSecretsField()
    config_revision = serializers.IntegerField(
        required=False,
        default=None,
        min_value=0,
        help_text="null or 0: the files themselves; default: the latest of the version",
    )
    instance_count = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LIMIT_REPLICAS,
        help_text=f"{COUNT_HELP}; 0 only as it was read, of one that is paused",
    )


class DeploymentPatchSerializer(Change, ChangedSettings):
    """A change of the words and of the request settings is done at once, all else takes a while.

    What is left out stays as it is, null takes a setting away.
    """

    settings = tuple(SETTINGS)
    empty = {**emptied(SETTINGS), "config_revision": 0}

    model = serializers.CharField(required=False, max_length=255)
    version = serializers.CharField(
        required=False, max_length=70, help_text="left out: the latest of another model"
    )
    config_revision = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="null or 0: the files themselves; left out: the latest of another version",
    )
    secret_environment = KeptSecretsField(default=serializers.empty)
    instance_count = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LIMIT_REPLICAS,
        help_text="0 only as it was read, of one that is paused",
    )


class ScaleSerializer(Fields):
    instance_count = serializers.IntegerField(min_value=1, max_value=LIMIT_REPLICAS)


class DeploymentRollSerializer(Change, ChangedSettings):
    """What is left out stays as it is, null takes a setting away."""

    settings = REVISIONED
    empty = {**emptied(settings), "config_revision": 0}

    model = serializers.CharField(required=False, default="", allow_blank=True, max_length=255)
    version = serializers.CharField(required=False, default="", allow_blank=True, max_length=70)
    config_revision = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="null or 0: the files themselves; left out: the latest of another version",
    )


class RollbackSerializer(Fields):
    revision = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        help_text="default: the last before this one that came up",
    )
