"""Shapes of endpoints, deployments and replicas on the wire."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.accounts.serializers import ProjectField
from controlplane.core.etags import etag_of
from controlplane.core.requests import Change
from controlplane.deployments.serializers.autoscaling import AutoscalingSerializer
from controlplane.deployments.serializers.limits import (
    LimitsFields,
    MaxRequestBytesField,
    OriginsField,
    RateLimitSerializer,
)
from controlplane.deployments.serializers.routing import (
    StickySerializer,
    TrafficRuleSerializer,
    rules_field,
)
from controlplane.deployments.serializers.settings import (
    DeclaredField,
    Field,
    ShownSettings,
    setting_shown,
)
from controlplane.deployments.serializers.traffic_change import TrafficChangeSerializer
from controlplane.deployments.spec import DESCRIPTIVE, REVISIONED, ROUTED, SETTINGS
from controlplane.deployments.types import (
    AuthMode,
    DeploymentState,
    EndpointState,
    ReplicaState,
    ServingState,
)

Fields = serializers.Serializer[Any]
WORDS: dict[str, Any] = {"description": "", "tags": {}, "declared": {}}


class ProblemSerializer(Fields):
    """Why something failed: what happened, the verbatim reason, what to try."""

    code = serializers.CharField()
    message = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    hints = serializers.ListField(child=serializers.CharField())


@extend_schema_serializer(component_name="Replica")
class ReplicaSerializer(Fields):
    id = serializers.CharField()
    ordinal = serializers.IntegerField()
    node = serializers.CharField(help_text="name of the node")
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    state = serializers.ChoiceField(choices=ReplicaState.choices)
    generation = serializers.IntegerField()
    gpus = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="UUIDs of the GPUs that it may use; null: whatever the node has",
    )
    restarts = serializers.IntegerField()
    http_port = serializers.IntegerField(help_text="0 until known")
    grpc_port = serializers.IntegerField(help_text="0 until known")
    memory_bytes = serializers.IntegerField()
    downloaded_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField()
    started_at = serializers.DateTimeField(allow_null=True)
    load_seconds = serializers.FloatField(allow_null=True)
    runtime_version = serializers.CharField(
        allow_blank=True,
        help_text="of Shoal, when its process was started; empty: not known, or not started yet",
    )
    error = ProblemSerializer(allow_null=True)
    last_report_at = serializers.DateTimeField(allow_null=True)


DEPLOYMENT_TAG = (
    "endpoint", "name", *DESCRIPTIVE, "instance_count", *ROUTED,
    "environment", "secret_environment", "revision", "config_revision", "model", "version",
)  # fmt: skip


def deployment_tag(body: Mapping[str, Any]) -> str:
    """Of what people change of a deployment, as ``DeploymentSerializer`` shows it."""
    # why: else who edits a deployment is told that it is another one whenever the load changes
    scaled = (body["autoscale"] or {}).get("enabled") and not body["paused"]
    return etag_of(
        *(body[name] for name in DEPLOYMENT_TAG if not (scaled and name == "instance_count"))
    )


@extend_schema_serializer(component_name="Deployment")
class DeploymentSerializer(ShownSettings):
    settings = tuple(SETTINGS)

    etag = serializers.CharField(
        read_only=True, help_text="for `If-Match`: this state of what people change"
    )
    name = serializers.CharField()
    endpoint = serializers.CharField()
    project = serializers.CharField()
    model = serializers.CharField()
    version = serializers.IntegerField()
    config_revision = serializers.IntegerField(allow_null=True)
    instance_count = serializers.IntegerField()
    provisioning_state = serializers.ChoiceField(choices=DeploymentState.choices)
    serving_state = serializers.ChoiceField(choices=ServingState.choices)
    traffic = serializers.IntegerField(help_text="percent")
    error = ProblemSerializer(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    paused = serializers.BooleanField()
    replicas = ReplicaSerializer(many=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    operation = serializers.CharField(allow_null=True, help_text="id of the latest operation")
    autoscaling = AutoscalingSerializer(
        allow_null=True, help_text="null: no policy, or not looked at yet"
    )

    def to_representation(self, instance: Any) -> dict[str, Any]:
        # why in the body too: endpoints show their deployments, lists and sockets have no header
        body = super().to_representation(instance)
        return {"etag": deployment_tag(body), **body}


class DeployedModelSerializer(Fields):
    name = serializers.CharField()
    version = serializers.IntegerField()
    repo_models = serializers.ListField(
        child=serializers.CharField(), help_text="what clients name in their URLs"
    )


class LeftOutSerializer(Fields):
    """A part of an endpoint that a gateway refused; everything else is routed."""

    gateway = serializers.CharField()
    deployment = serializers.CharField(
        allow_blank=True, help_text="empty: all of the endpoint, which is routed as before"
    )
    address = serializers.CharField(
        allow_blank=True, help_text="of one replica; empty: all of the deployment"
    )
    reason = serializers.CharField()


class UnconfirmedSerializer(Fields):
    """A gateway that is silent: it may go on by the keys and the traffic of before."""

    gateway = serializers.CharField()
    silent_since = serializers.DateTimeField(help_text="when it was last heard of")


@extend_schema_serializer(component_name="EndpointObjective")
class PromiseSerializer(Fields):
    """An objective as people set it; `GET .../objectives` has what is left of its budget."""

    name = serializers.CharField()
    kind = serializers.CharField(help_text="availability or latency")
    target_percent = serializers.FloatField()
    window_days = serializers.IntegerField()
    threshold_ms = serializers.FloatField(allow_null=True)


ENDPOINT_TAG = (
    "name", "description", "tags", "declared", "auth_mode", "traffic", "mirror_traffic",
    "cors_origins", "max_request_bytes", "rate_limit", "traffic_rules", "sticky", "objectives",
)  # fmt: skip


@extend_schema_serializer(component_name="Endpoint")
class EndpointSerializer(Fields):
    etag = serializers.CharField(
        read_only=True, help_text="for `If-Match`: this state of what people change"
    )
    name = serializers.CharField()
    project = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField())
    auth_mode = serializers.CharField()
    cors_origins = OriginsField()
    max_request_bytes = MaxRequestBytesField()
    rate_limit = RateLimitSerializer(allow_null=True)
    sticky = StickySerializer(allow_null=True)
    objectives = PromiseSerializer(many=True, help_text="by name")
    declared = DeclaredField()
    provisioning_state = serializers.ChoiceField(choices=EndpointState.choices)
    serving_state = serializers.ChoiceField(choices=ServingState.choices)
    traffic = serializers.DictField(child=serializers.IntegerField())
    mirror_traffic = serializers.DictField(child=serializers.IntegerField())
    traffic_rules = TrafficRuleSerializer(many=True)
    traffic_change = TrafficChangeSerializer(
        allow_null=True, help_text="the last one, while there is something to tell of it"
    )
    scoring_uri = serializers.CharField()
    openapi_uri = serializers.CharField(help_text="what clients may call, as OpenAPI")
    grpc_target = serializers.CharField()
    plain_uri = serializers.CharField()
    ca_path = serializers.CharField()
    routed = serializers.BooleanField(
        help_text="every gateway acts on the newest traffic, keys and settings"
    )
    unconfirmed = UnconfirmedSerializer(
        many=True, help_text="gateways that are silent and have not confirmed them"
    )
    left_out = LeftOutSerializer(many=True)
    models = DeployedModelSerializer(many=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    deployments = DeploymentSerializer(many=True)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        # why in the body too: an endpoint comes in lists and over sockets, which have no header
        body = super().to_representation(instance)
        return {"etag": etag_of(*(body[name] for name in ENDPOINT_TAG)), **body}


@extend_schema_serializer(component_name="TrafficAnswer")
class TrafficAnswerSerializer(EndpointSerializer):
    moved_percent = serializers.IntegerField(
        help_text="how much of the traffic goes elsewhere than before, or begins, or ends"
    )


class EndpointInputSerializer(LimitsFields):
    name = serializers.CharField(max_length=32)
    project = ProjectField()
    description = serializers.CharField(required=False, default="", allow_blank=True)
    tags = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, default=dict
    )
    declared = DeclaredField(required=False, default=dict)
    auth_mode = serializers.ChoiceField(
        choices=AuthMode.choices, required=False, default=AuthMode.KEY
    )


class SharesFields(Fields):
    """Whole maps and lists; one that is left out stays."""

    traffic = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="deployment -> percent; the sum is 100 or 0",
    )
    mirror_traffic = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="one deployment -> percent (1 to 50) of the requests that it gets a copy of",
    )
    traffic_rules = rules_field()


class EndpointPatchSerializer(Change, LimitsFields, SharesFields):
    """What is left out stays as it is, null takes a setting away."""

    empty = {**WORDS, "cors_origins": []}

    auth_mode = serializers.ChoiceField(choices=AuthMode.choices, required=False)
    description = serializers.CharField(required=False, allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    declared = DeclaredField(required=False)


class EndpointPutSerializer(Change, LimitsFields, SharesFields):
    """All of it: what is left out, or null, goes to its default; the shares stay unless named."""

    empty = {**WORDS, "cors_origins": []}

    project = ProjectField()
    description = serializers.CharField(required=False, default="", allow_blank=True)
    tags = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, default=dict
    )
    declared = DeclaredField(required=False, default=dict)
    auth_mode = serializers.ChoiceField(
        choices=AuthMode.choices, required=False, default=AuthMode.KEY
    )
    cors_origins = OriginsField(required=False, default=list)
    max_request_bytes = MaxRequestBytesField(required=False, default=None)
    rate_limit = RateLimitSerializer(required=False, allow_null=True, default=None)
    sticky = StickySerializer(required=False, allow_null=True, default=None)


class MirrorInputSerializer(Fields):
    mirror_traffic = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="one deployment -> percent (1 to 50) of the requests that it gets a copy of",
    )


class TrafficSerializer(Fields):
    """Which deployment answers: the first rule that fits, else the shares."""

    traffic = serializers.DictField(
        child=serializers.IntegerField(), help_text="deployment -> percent; the sum is 100 or 0"
    )
    traffic_rules = TrafficRuleSerializer(many=True)
    sticky = StickySerializer(allow_null=True)


class TrafficInputSerializer(Fields):
    """What is left out stays; at least one of them."""

    traffic = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="deployment -> percent; the sum is 100 or 0",
    )
    traffic_rules = rules_field()
    sticky = StickySerializer(
        required=False, allow_null=True, help_text="null: each request is drawn by itself"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(
                "Nothing to change: expected traffic, traffic_rules or sticky."
            )
        return attrs


class EndpointKeysSerializer(Fields):
    primaryKey = serializers.CharField()
    secondaryKey = serializers.CharField()


class EndpointTokenSerializer(Fields):
    """In Azure's words; times are Unix seconds."""

    accessToken = serializers.CharField()
    expiryTimeUtc = serializers.IntegerField()
    refreshAfterTimeUtc = serializers.IntegerField()
    tokenType = serializers.CharField()


class DeploymentRevisionSerializer(ShownSettings):
    settings = REVISIONED

    number = serializers.IntegerField()
    model = serializers.CharField(source="model_version.model.name")
    version = serializers.IntegerField(source="model_version.version")
    config_revision = serializers.IntegerField(
        source="config_revision.number", allow_null=True, default=None
    )
    digest = serializers.CharField(source="model_version.digest")
    secret_environment = serializers.ListField(source="secrets", child=serializers.CharField())
    instance_type = serializers.CharField(
        source="instance_type.name", allow_null=True, default=None
    )
    author = serializers.CharField()
    cause = serializers.CharField()
    succeeded = serializers.BooleanField(help_text="it has come up once")
    current = serializers.BooleanField()
    created_at = serializers.DateTimeField()

    def made(self, name: str) -> Field:
        return setting_shown(SETTINGS[name], source=f"settings.{name}")


class DeploymentRevisionListSerializer(Fields):
    items = DeploymentRevisionSerializer(many=True)


class KeyRegenerateSerializer(Fields):
    key_type = serializers.ChoiceField(choices=["primary", "secondary"])


class SnippetsSerializer(Fields):
    curl = serializers.CharField()
    python_http = serializers.CharField()
    python_grpc = serializers.CharField()
    python_requests = serializers.CharField()
    grpcurl = serializers.CharField()
    javascript = serializers.CharField()
