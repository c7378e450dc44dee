"""Shapes of nodes (with their replicas) and of the overview."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.core.requests import Change
from controlplane.deployments.serializers.endpoints import Fields, ReplicaSerializer
from controlplane.deployments.types import ServingState
from controlplane.events.serializers import EventSerializer
from controlplane.metrics.serializers import LiveSerializer
from controlplane.nodes.models import Node
from controlplane.nodes.types import CONDITIONS
from controlplane.operations.types import OperationKind, OperationState

LONGEST_LABEL = 255  # characters, of its name and of its value


class GpuSerializer(Fields):
    index = serializers.IntegerField()
    uuid = serializers.CharField()
    name = serializers.CharField()
    memory_total_bytes = serializers.IntegerField()
    memory_used_bytes = serializers.IntegerField()
    utilization = serializers.FloatField(
        allow_null=True, help_text="0..1; null: the device does not tell, as MIG devices"
    )
    temperature_c = serializers.FloatField(
        default=None, allow_null=True, help_text="null: the device does not tell"
    )
    power_w = serializers.FloatField(default=None, allow_null=True)
    power_limit_w = serializers.FloatField(default=None, allow_null=True)
    driver_version = serializers.CharField(default="", allow_blank=True)
    energy_j = serializers.FloatField(
        default=None, allow_null=True, help_text="joules since the driver was loaded"
    )


class NodeInfoSerializer(Fields):
    """What the node said of itself in its last report."""

    agent_version = serializers.CharField(default="")
    wire_version = serializers.IntegerField(default=0)
    boot_id = serializers.CharField(default="", allow_blank=True)
    address = serializers.CharField(default="")
    cpu_count = serializers.IntegerField(default=0)
    cpu_utilization = serializers.FloatField(default=0.0, help_text="0..1")
    memory_total_bytes = serializers.IntegerField(default=0)
    memory_used_bytes = serializers.IntegerField(default=0)
    disk_total_bytes = serializers.IntegerField(default=0)
    disk_free_bytes = serializers.IntegerField(default=0)
    cache_bytes = serializers.IntegerField(default=0)
    cache_idle_bytes = serializers.IntegerField(
        default=None, allow_null=True, help_text="of the cache, what no replica uses"
    )
    cache_quota_bytes = serializers.IntegerField(
        default=0, help_text="0: only the disk limits the cache"
    )
    cache_checked_at = serializers.FloatField(
        default=0.0, help_text="when all of it was last hashed again, Unix seconds; 0: never yet"
    )
    cache_spoiled = serializers.IntegerField(
        default=0, help_text="files that had changed on disk by then"
    )
    download_limit_bytes_per_s = serializers.IntegerField(
        default=0, help_text="of all its downloads together; 0: none"
    )
    disk_pressure = serializers.BooleanField(default=False)
    shm_total_bytes = serializers.IntegerField(
        default=None, allow_null=True, help_text="of shared memory; null: the node does not say"
    )
    sandbox = serializers.DictField(
        child=serializers.BooleanField(),
        default=dict,
        help_text="what the node keeps replicas to, and what it cannot; empty: no sandbox",
    )
    backends = serializers.ListField(child=serializers.CharField(), default=list)
    gpus = GpuSerializer(many=True, default=list)
    labels = serializers.DictField(child=serializers.CharField(), default=dict)


class CachedFileSerializer(Fields):
    model = serializers.CharField()
    version = serializers.IntegerField()
    path = serializers.CharField()


class CachedBlobSerializer(Fields):
    """Bytes in a node's cache. What is in use stays; the rest goes, longest unused first, when
    room is needed."""

    sha256 = serializers.CharField()
    size = serializers.IntegerField()
    used_at = serializers.DateTimeField(help_text="when it was last wanted")
    in_use = serializers.BooleanField(help_text="a replica's repository links to it")
    files = CachedFileSerializer(many=True, help_text="what it is of versions that were deployed")


class LivenessRuleSerializer(Fields):
    """The rule behind ``state``, so that a badge can say why it is what it is."""

    interval_s = serializers.FloatField()
    suspect_after_s = serializers.FloatField()
    offline_after_s = serializers.FloatField()


class ConditionSerializer(Fields):
    """Something odd about a node that works nevertheless."""

    code = serializers.ChoiceField(choices=CONDITIONS)
    message = serializers.CharField()


class DrainStateSerializer(Fields):
    started_at = serializers.DateTimeField()
    deadline_at = serializers.DateTimeField(allow_null=True)
    done = serializers.BooleanField(help_text="nothing runs there any more")


class NodePatchSerializer(Change):
    empty = {"labels": {}}

    labels = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=LONGEST_LABEL),
        help_text="replaces the labels that were set here",
    )

    def validate_labels(self, labels: dict[str, str]) -> dict[str, str]:
        for name in labels:
            if not name.strip() or len(name) > LONGEST_LABEL:
                raise serializers.ValidationError(
                    f"{name[:40]!r} cannot be a label: "
                    f"expected a name of 1 to {LONGEST_LABEL} characters."
                )
        return labels


class DrainInputSerializer(Fields):
    deadline_s = serializers.IntegerField(
        required=False, default=600, min_value=1, max_value=86_400
    )
    dry_run = serializers.BooleanField(required=False, default=False)
    force = serializers.BooleanField(
        required=False, default=False, help_text="even if something has nowhere to go"
    )


class DrainsInputSerializer(DrainInputSerializer):
    nodes = serializers.ListField(
        child=serializers.CharField(max_length=100), min_length=1, max_length=1000,
        help_text="names; what leaves one of them does not go to another",
    )  # fmt: skip


class MoveSerializer(Fields):
    replica = serializers.CharField()
    node = serializers.CharField(help_text="name of the node that it leaves")
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    ordinal = serializers.IntegerField()
    traffic = serializers.IntegerField(help_text="percent of the endpoint's")
    to = serializers.CharField(allow_null=True, help_text="name of a node")
    why_not = serializers.CharField(allow_blank=True)
    waits_for = serializers.CharField(
        allow_blank=True, help_text="the operation that must end before it moves; empty: nothing"
    )


class DrainSerializer(Fields):
    dry_run = serializers.BooleanField()
    moves = MoveSerializer(many=True)


@extend_schema_serializer(component_name="Node")
class NodeSerializer(Fields):
    id = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=Node.State.choices)
    rule = LivenessRuleSerializer()
    conditions = ConditionSerializer(many=True)
    cordoned = serializers.BooleanField()
    labels = serializers.DictField(child=serializers.CharField(allow_blank=True))
    drain = DrainStateSerializer(allow_null=True)
    info = NodeInfoSerializer()
    last_seen_at = serializers.DateTimeField(allow_null=True)
    certificate_ends_at = serializers.DateTimeField(
        allow_null=True,
        help_text="of the certificate that it proves itself by; null: it has shown none so far",
    )
    age_s = serializers.FloatField(allow_null=True)
    replicas = ReplicaSerializer(many=True)


class OverviewCountsSerializer(Fields):
    endpoints = serializers.IntegerField()
    models = serializers.IntegerField()
    nodes = serializers.IntegerField()


class CountsSerializer(OverviewCountsSerializer):
    nodes_online = serializers.IntegerField()
    replicas_ready = serializers.IntegerField()
    replicas_total = serializers.IntegerField()
    attention = serializers.IntegerField(help_text="how many things want attention")


class AttentionSerializer(Fields):
    severity = serializers.ChoiceField(choices=["info", "warning", "error"])
    title = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    link = serializers.CharField(help_text="path in the studio")


@extend_schema_serializer(component_name="OverviewModel")
class OverviewModelSerializer(Fields):
    name = serializers.CharField()
    version = serializers.IntegerField()


@extend_schema_serializer(component_name="OverviewEndpoint")
class OverviewEndpointSerializer(Fields):
    name = serializers.CharField()
    serving_state = serializers.ChoiceField(choices=ServingState.choices)
    traffic = serializers.DictField(child=serializers.IntegerField())
    models = OverviewModelSerializer(many=True)
    live = LiveSerializer()


@extend_schema_serializer(component_name="OverviewGpu")
class OverviewGpuSerializer(Fields):
    index = serializers.IntegerField()
    memory_total_bytes = serializers.IntegerField()
    memory_used_bytes = serializers.IntegerField(default=0)
    utilization = serializers.FloatField(default=0.0, allow_null=True, help_text="0..1")


@extend_schema_serializer(component_name="OverviewNodeInfo")
class OverviewNodeInfoSerializer(Fields):
    memory_total_bytes = serializers.IntegerField(default=0)
    memory_used_bytes = serializers.IntegerField(default=0)
    gpus = OverviewGpuSerializer(many=True, default=list)


@extend_schema_serializer(component_name="OverviewNode")
class OverviewNodeSerializer(Fields):
    """A part of `Node`."""

    id = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=Node.State.choices)
    cordoned = serializers.BooleanField()
    drain = DrainStateSerializer(allow_null=True)
    info = OverviewNodeInfoSerializer()


@extend_schema_serializer(component_name="OverviewOperation")
class OverviewOperationSerializer(Fields):
    """A part of `Operation`."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=OperationKind.choices)
    endpoint = serializers.CharField()
    deployment = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=OperationState.choices)
    stage = serializers.CharField(
        allow_blank=True, help_text="title of the one under way, or that failed"
    )
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class SlowestSerializer(Fields):
    endpoint = serializers.CharField()
    p95_us = serializers.FloatField()


class LeastDiskSerializer(Fields):
    node = serializers.CharField()
    free_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField()


class TotalsSerializer(Fields):
    """Of all endpoints, and of all nodes that are online."""

    answer_rate = serializers.FloatField(
        allow_null=True, help_text="requests that gateways answered per second"
    )
    error_rate = serializers.FloatField(
        allow_null=True, help_text="0..1, endpoints weighed by `answer_rate`"
    )
    slowest = SlowestSerializer(allow_null=True, help_text="the highest p95 of any endpoint")
    utilization = serializers.FloatField(
        allow_null=True, help_text="0..1, mean of the GPUs; of the processors where there are none"
    )
    gpus_online = serializers.IntegerField()
    gpus = serializers.IntegerField(help_text="also of nodes that are not online")
    gpu_name = serializers.CharField(allow_blank=True, help_text="of the first")
    gpu_memory_bytes = serializers.IntegerField()
    least_disk = LeastDiskSerializer(allow_null=True, help_text="the node whose disk is fullest")


class OverviewSerializer(Fields):
    """Counts and totals of everything, and of each list the few rows that matter most."""

    counts = CountsSerializer()
    totals = TotalsSerializer()
    attention = AttentionSerializer(many=True, help_text="the worst of them")
    endpoints = OverviewEndpointSerializer(
        many=True, help_text="of many those that do not answer well, then the busiest; by name"
    )
    nodes = OverviewNodeSerializer(
        many=True, help_text="of many those that are not online, then the fullest; by name"
    )
    recent_operations = OverviewOperationSerializer(many=True)
    recent_events = EventSerializer(many=True)
