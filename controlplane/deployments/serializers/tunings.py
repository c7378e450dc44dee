"""Shapes of tunings."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.core.numbers import NumberField
from controlplane.deployments.serializers.endpoints import ProblemSerializer
from controlplane.deployments.serializers.sweeps import (
    SweepInputSerializer,
    SweepPointSerializer,
)
from controlplane.deployments.types import RunState
from controlplane.tuning.search import MOST_RUNS
from controlplane.tuning.space import LONGEST_DELAY_US, MOST_BATCH, MOST_INSTANCES, MOST_VALUES
from load_client.plans import LONGEST_POINT_S, PERCENTILES, SHORTEST_POINT_S
from wire.load import MODES, MOST_LEVELS

Fields = serializers.Serializer[Any]
USUAL_LEVELS = (4.0, 16.0, 64.0)


def _values(least: int, most: int, help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.IntegerField(min_value=least, max_value=most),
        required=False,
        default=list,
        max_length=MOST_VALUES,
        help_text=help_text,
    )


@extend_schema_serializer(component_name="TuningInput")
class TuningInputSerializer(SweepInputSerializer):
    levels = serializers.ListField(
        child=NumberField(),
        required=False,
        default=list,
        max_length=MOST_LEVELS,
        help_text="rising, asked of each configuration; of a rate, one. Default: 4, 16 and 64",
    )
    seconds = NumberField(
        required=False, default=2.0, min_value=SHORTEST_POINT_S, max_value=LONGEST_POINT_S,
        help_text="of each point",
    )  # fmt: skip
    warm_up_s = NumberField(required=False, default=0.5, min_value=0, max_value=LONGEST_POINT_S)
    instances = _values(1, MOST_INSTANCES, "rising; default: 1, 2, 4, … as the node has processors")
    batch_sizes = _values(
        1, MOST_BATCH, "`max_batch_size`, rising; default: from what it is now to 64, doubling"
    )
    delays_us = _values(
        0, LONGEST_DELAY_US, "`max_queue_delay_microseconds`, rising; default: 0 to 5000"
    )
    runs = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=2,
        max_value=MOST_RUNS,
        help_text="at most; default: a tenth of the configurations, 6 at least",
    )
    node = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=100, help_text="where"
    )
    while_serving = serializers.BooleanField(
        required=False, default=False, help_text="though replicas on that node answer clients"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["levels"]:
            if attrs["mode"] == "rate":
                raise serializers.ValidationError({"levels": "missing; name one rate."})
            attrs["levels"] = list(USUAL_LEVELS)
        return super().validate(attrs)


@extend_schema_serializer(component_name="TuningSetting")
class SettingSerializer(Fields):
    instances = serializers.IntegerField(min_value=1, max_value=MOST_INSTANCES)
    batch = serializers.IntegerField(
        min_value=0, max_value=MOST_BATCH, help_text="`max_batch_size`; 0: it takes no batches"
    )
    delay_us = serializers.IntegerField(min_value=0, max_value=LONGEST_DELAY_US)


@extend_schema_serializer(component_name="TuningApplyInput")
class TuningApplyInputSerializer(Fields):
    setting = SettingSerializer(
        required=False, allow_null=True, default=None, help_text="default: the chosen one"
    )


@extend_schema_serializer(component_name="TuningCurrent")
class CurrentSerializer(Fields):
    phase = serializers.ChoiceField(choices=["starting", "measuring", "choosing"])
    setting = SettingSerializer(required=False)
    reason = serializers.CharField(required=False, help_text="why this one")
    points = serializers.IntegerField(help_text="measured of it")


@extend_schema_serializer(component_name="TuningRun")
class RunSerializer(Fields):
    setting = SettingSerializer()
    reason = serializers.CharField(help_text="why this one was measured")
    within = serializers.BooleanField(help_text="it holds the objective")
    throughput = serializers.FloatField(allow_null=True, help_text="good answers a second")
    latency_us = serializers.FloatField(
        allow_null=True, help_text="p99, or the objective's percentile, at that throughput"
    )
    level = serializers.FloatField(allow_null=True, help_text="at which they were measured")
    memory_bytes = serializers.IntegerField(help_text="resident, of the replica")
    gpu_memory_bytes = serializers.IntegerField(
        help_text="of its processes on GPUs; 0: none, or the driver does not tell"
    )
    load_seconds = serializers.FloatField(allow_null=True)
    error = ProblemSerializer(allow_null=True)
    frontier = serializers.BooleanField(help_text="no other answered more with less latency")
    chosen = serializers.BooleanField()
    points = SweepPointSerializer(many=True)


class TuningSummarySerializer(Fields):
    id = serializers.CharField()
    state = serializers.ChoiceField(choices=RunState.choices)
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    revision = serializers.IntegerField(help_text="of the deployment, when it began")
    model = serializers.CharField(help_text="as clients call it")
    registered_model = serializers.CharField()
    version = serializers.IntegerField()
    config_revision = serializers.IntegerField(allow_null=True, help_text="that it began from")
    node = serializers.CharField()
    case = serializers.CharField(allow_blank=True, help_text="name; empty: random data")
    mode = serializers.ChoiceField(choices=MODES)
    levels = serializers.ListField(child=serializers.FloatField())
    seconds = serializers.FloatField()
    warm_up_s = serializers.FloatField()
    slo_percentile = serializers.ChoiceField(choices=PERCENTILES, allow_null=True)
    slo_ms = serializers.FloatField(allow_null=True)
    instances = serializers.ListField(child=serializers.IntegerField())
    batch_sizes = serializers.ListField(child=serializers.IntegerField())
    delays_us = serializers.ListField(child=serializers.IntegerField())
    now = SettingSerializer(help_text="what the deployment ran when it began")
    configurations = serializers.IntegerField(help_text="that differ, of all these values")
    budget = serializers.IntegerField(help_text="runs at most")
    measured = serializers.IntegerField(help_text="runs that have ended")
    current = CurrentSerializer(allow_null=True)
    stopped_by = serializers.CharField(allow_blank=True, help_text="why it was done")
    applied = serializers.IntegerField(
        allow_null=True, help_text="the configuration revision that was saved from it"
    )
    error = ProblemSerializer(allow_null=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="TuningSummary")
class TuningRowSerializer(TuningSummarySerializer):
    pass


@extend_schema_serializer(component_name="Tuning")
class TuningSerializer(TuningSummarySerializer):
    runs = RunSerializer(many=True)
    gain = serializers.FloatField(
        allow_null=True,
        help_text="share by which the chosen one answers more than what ran; by rate: sooner",
    )
