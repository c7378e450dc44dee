"""What is sent to make, replace or change a deployment."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.core.requests import Change
from controlplane.deployments.serializers.endpoints import WORDS, DeclaredField, Fields
from controlplane.deployments.serializers.placement import LIMIT_REPLICAS, PlacementFields
from controlplane.deployments.serializers.probes import ProbeSerializer
from controlplane.deployments.serializers.settings import (
    DEFAULT_TIMEOUT_MS,
    ConcurrencyField,
    QueueWaitField,
    SecretsField,
    SettingsFields,
    TimeoutField,
    VariablesField,
)
from controlplane.deployments.types import AntiAffinity
from controlplane.registry.serializers.versions import VersionField

REQUESTS: dict[str, Any] = {"request_timeout_ms": DEFAULT_TIMEOUT_MS, "retries": True}
PLACEMENT: dict[str, Any] = {
    "instance_type": "",
    "node_labels": {},
    "anti_affinity": AntiAffinity.PREFERRED.value,
}


class WordsFields(Fields):
    description = serializers.CharField(required=False, default="", allow_blank=True)
    tags = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, default=dict
    )
    declared = DeclaredField(required=False, default=dict)


class RunFields(PlacementFields, SettingsFields):
    """What shall run, where, and how it is asked."""

    model = serializers.CharField(max_length=255)
    version = VersionField()
    config_revision = serializers.IntegerField(required=False, allow_null=True, default=None)
    instance_count = serializers.IntegerField(
        required=False, default=1, min_value=1, max_value=LIMIT_REPLICAS
    )


class DeploymentInputSerializer(RunFields, WordsFields):
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


class DeploymentPutSerializer(Change, RunFields, WordsFields):
    """All of it: what is left out, or null, goes to its default."""

    empty = {**WORDS, **REQUESTS, **PLACEMENT, "environment": {}, "config_revision": 0}

    secret_environment = KeptSecretsField()
    config_revision = serializers.IntegerField(
        required=False,
        default=None,
        min_value=0,
        help_text="null or 0: the files themselves; default: the latest of the version",
    )
    instance_count = serializers.IntegerField(
        required=False,
        default=1,
        min_value=0,
        max_value=LIMIT_REPLICAS,
        help_text="0 only as it was read, of one that is paused",
    )


class DeploymentPatchSerializer(Change):
    """A change of the words and of the request settings is done at once; scaling takes a while.

    What is left out stays as it is, null takes a setting away.
    """

    empty = {**WORDS, **REQUESTS}

    instance_count = serializers.IntegerField(required=False, min_value=1, max_value=LIMIT_REPLICAS)
    description = serializers.CharField(required=False, allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    declared = DeclaredField(required=False)
    request_timeout_ms = TimeoutField()
    max_concurrent_requests_per_instance = ConcurrencyField()
    retries = serializers.BooleanField(required=False)


class ScaleSerializer(Fields):
    instance_count = serializers.IntegerField(min_value=1, max_value=LIMIT_REPLICAS)


class DeploymentRollSerializer(Change):
    """What is left out stays as it is, null takes a setting away."""

    empty = {**PLACEMENT, "environment": {}, "config_revision": 0}

    liveness_probe = ProbeSerializer(required=False, allow_null=True)
    readiness_probe = ProbeSerializer(required=False, allow_null=True)
    max_queue_wait_ms = QueueWaitField()
    instance_type = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=64,
        help_text="a name or an alias; empty: any node",
    )
    node_labels = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False
    )
    anti_affinity = serializers.ChoiceField(choices=AntiAffinity.choices, required=False)
    model = serializers.CharField(required=False, default="", allow_blank=True, max_length=255)
    version = serializers.CharField(required=False, default="", allow_blank=True, max_length=70)
    config_revision = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="null or 0: the files themselves; left out: the latest of another version",
    )
    environment = VariablesField(child=serializers.CharField(), required=False)
    secret_environment = SecretsField()


class RollbackSerializer(Fields):
    revision = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        help_text="default: the last before this one that came up",
    )
