"""Shapes of placement: what is asked for, what every node says to it, and instance types."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.core.pagination import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.core.requests import Change
from controlplane.deployments.serializers.settings import NewSettings
from controlplane.deployments.types import GpuPolicy
from controlplane.registry.serializers.versions import VersionField

Fields = serializers.Serializer[Any]
LIMIT_REPLICAS = 64
LARGEST = 2**62


class PlacementPreviewInputSerializer(NewSettings):
    """Where replicas may run; for a deployment that is made."""

    settings = ("instance_type", "node_labels", "anti_affinity")

    model = serializers.CharField(required=False, default="", allow_blank=True, max_length=255)
    upload_id = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=32,
        help_text="instead of a model: an upload that is ready and not registered yet",
    )
    version = VersionField()
    instance_count = serializers.IntegerField(
        required=False, default=1, min_value=1, max_value=LIMIT_REPLICAS
    )
    q = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=255,
        help_text="only nodes whose names contain this are told of",
    )
    limit = serializers.IntegerField(
        required=False,
        default=DEFAULT_LIMIT,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text="nodes of a page, the best first",
    )
    cursor = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="`next_cursor` of the page before, which asked the same",
    )


class CheckSerializer(Fields):
    name = serializers.ChoiceField(
        choices=[
            "reports", "schedulable", "labels", "backends", "machine", "gpus", "anti_affinity",
            "disk_pressure", "disk", "sandbox",
        ]
    )  # fmt: skip
    ok = serializers.BooleanField()
    detail = serializers.CharField()


class VerdictSerializer(Fields):
    node = serializers.CharField()
    rank = serializers.IntegerField(allow_null=True, help_text="1 is the best place")
    reason = serializers.CharField(allow_null=True, help_text="why not")
    because = serializers.CharField()
    checks = CheckSerializer(many=True, help_text="every question that was asked of the node")
    gpus = serializers.ListField(
        child=serializers.CharField(), help_text="UUIDs that a replica would get there"
    )


class PlacementSerializer(Fields):
    items = VerdictSerializer(many=True)


class AssignmentSerializer(Fields):
    ordinal = serializers.IntegerField()
    node = serializers.CharField()
    gpus = serializers.ListField(
        child=serializers.CharField(), help_text="UUIDs that this replica would get"
    )


class PlacementEstimateSerializer(Fields):
    """What one replica is thought to need."""

    download_bytes = serializers.IntegerField()
    gpu_count = serializers.IntegerField()
    gpu_memory_bytes = serializers.IntegerField(help_text="of each GPU; 0 without one")


class PlacementPreviewSerializer(Fields):
    instance_count = serializers.IntegerField()
    placeable = serializers.IntegerField(help_text="how many of the replicas have a node")
    assigned = AssignmentSerializer(many=True)
    why_not = serializers.CharField(allow_blank=True, help_text="of those that have none")
    instance_type = serializers.CharField(allow_null=True)
    estimate = PlacementEstimateSerializer()
    fitting = serializers.IntegerField(help_text="nodes that would take a replica now")
    matching = serializers.IntegerField(help_text="nodes whose names contain `q`")
    items = VerdictSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


@extend_schema_serializer(component_name="InstanceType")
class InstanceTypeSerializer(Fields):
    name = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    description = serializers.CharField(allow_blank=True)
    gpu_count = serializers.IntegerField()
    gpu_policy = serializers.ChoiceField(choices=GpuPolicy.choices)
    gpu_model = serializers.CharField(allow_blank=True)
    gpu_memory_bytes = serializers.IntegerField()
    cpu_count = serializers.IntegerField()
    memory_bytes = serializers.IntegerField()
    node_labels = serializers.DictField(child=serializers.CharField(allow_blank=True))
    used_by = serializers.IntegerField(help_text="deployments")
    nodes = serializers.ListField(
        child=serializers.CharField(), help_text="that would take a replica of it now"
    )
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class InstanceTypePatchSerializer(Change):
    """What is left out stays as it is, null takes a requirement away."""

    empty = {
        "aliases": [],
        "description": "",
        "gpu_count": 0,
        "gpu_policy": GpuPolicy.REQUIRED.value,
        "gpu_model": "",
        "gpu_memory_bytes": 0,
        "cpu_count": 0,
        "memory_bytes": 0,
        "node_labels": {},
    }

    aliases = serializers.ListField(
        child=serializers.CharField(max_length=64),
        required=False,
        max_length=200,
        help_text="other names for it, whatever their case: Azure's machine sizes, for instance",
    )
    description = serializers.CharField(required=False, allow_blank=True, max_length=10_000)
    gpu_count = serializers.IntegerField(
        required=False, min_value=0, max_value=64, help_text="GPUs that each replica gets"
    )
    gpu_policy = serializers.ChoiceField(
        choices=GpuPolicy.choices,
        required=False,
        help_text="`preferred`: without a fitting GPU it runs on processors",
    )
    gpu_model = serializers.CharField(
        required=False, allow_blank=True, max_length=64, help_text="a part of the GPU's name: T4"
    )
    gpu_memory_bytes = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST, help_text="that each GPU has at least"
    )
    cpu_count = serializers.IntegerField(
        required=False, min_value=0, max_value=4096, help_text="that the node has at least"
    )
    memory_bytes = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST, help_text="that the node has at least"
    )
    node_labels = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=255), required=False
    )


class InstanceTypeInputSerializer(InstanceTypePatchSerializer):
    name = serializers.CharField(max_length=64)
