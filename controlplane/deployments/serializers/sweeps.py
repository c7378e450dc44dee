"""Shapes of load sweeps."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.core.numbers import NumberField
from controlplane.deployments.serializers.endpoints import ProblemSerializer
from controlplane.deployments.types import RunState
from load_client.plans import LONGEST_POINT_S, PERCENTILES, SHORTEST_POINT_S
from wire.load import CONCURRENCY, MODES, MOST_LEVELS

Fields = serializers.Serializer[Any]
MOST_AXES = 64
MOST_INPUTS = 64


@extend_schema_serializer(component_name="LoadSweepInput")
class SweepInputSerializer(Fields):
    model = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=255,
        help_text="what clients call it; default: the case's, or the first of the version",
    )
    model_version = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=20
    )
    case = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=32,
        help_text="id of a saved test case whose inputs are sent; default: random data",
    )
    batch = serializers.IntegerField(
        required=False, default=1, min_value=1, max_value=65_536, help_text="of random data"
    )
    shapes = serializers.DictField(
        child=serializers.ListField(
            child=serializers.IntegerField(min_value=0, max_value=2**31), max_length=MOST_AXES
        ),
        required=False,
        default=dict,
        help_text="input -> its shape without the batch, where axes may have any size; else 1",
    )
    mode = serializers.ChoiceField(
        choices=MODES,
        required=False,
        default=CONCURRENCY,
        help_text="what `levels` are: requests at a time, or requests a second",
    )
    levels = serializers.ListField(
        child=NumberField(), min_length=1, max_length=MOST_LEVELS, help_text="rising"
    )
    seconds = NumberField(
        required=False,
        default=5.0,
        min_value=SHORTEST_POINT_S,
        max_value=LONGEST_POINT_S,
        help_text="of each point",
    )
    warm_up_s = NumberField(
        required=False,
        default=1.0,
        min_value=0,
        max_value=LONGEST_POINT_S,
        help_text="at each level, before what counts",
    )
    slo_percentile = serializers.ChoiceField(
        choices=PERCENTILES, required=False, allow_null=True, default=None
    )
    slo_ms = NumberField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0.001,
        max_value=1e6,
        help_text="the first point whose percentile is above it is the last one",
    )
    while_serving = serializers.BooleanField(
        required=False, default=False, help_text="though clients send it traffic meanwhile"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["slo_percentile"] is None) != (attrs["slo_ms"] is None):
            missing = "slo_ms" if attrs["slo_ms"] is None else "slo_percentile"
            raise serializers.ValidationError(
                {missing: "missing; an objective has a percentile and milliseconds."}
            )
        if len(attrs["shapes"]) > MOST_INPUTS:
            raise serializers.ValidationError(
                {"shapes": f"{len(attrs['shapes'])} inputs, expected at most {MOST_INPUTS}."}
            )
        return attrs


@extend_schema_serializer(component_name="LoadSweepPoint")
class SweepPointSerializer(Fields):
    level = serializers.FloatField()
    seconds = serializers.FloatField()
    good = serializers.IntegerField(help_text="good answers")
    throughput = serializers.FloatField(help_text="good answers a second")
    mean_us = serializers.FloatField()
    p50_us = serializers.FloatField()
    p90_us = serializers.FloatField()
    p95_us = serializers.FloatField()
    p99_us = serializers.FloatField()
    errors = serializers.DictField(child=serializers.IntegerField(), help_text="kind -> count")  # type: ignore[assignment]  # a wire field
    failed = serializers.IntegerField()
    error_share = serializers.FloatField(help_text="0..1 of the requests")
    within_slo = serializers.BooleanField(allow_null=True)
    batch = serializers.FloatField(
        allow_null=True, help_text="mean inferences that ran together, by the runtime"
    )
    queue_us = serializers.FloatField(allow_null=True, help_text="mean, by the runtime")
    compute_us = serializers.FloatField(allow_null=True, help_text="mean, by the runtime")
    others = serializers.IntegerField(help_text="requests of clients meanwhile, by the runtime")
    client_busy = serializers.FloatField(
        help_text="0..1 of a processor; near 1 the load client was the limit"
    )


class SweepSummarySerializer(Fields):
    id = serializers.CharField()
    state = serializers.ChoiceField(choices=RunState.choices)
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    revision = serializers.IntegerField()
    replica = serializers.CharField()
    node = serializers.CharField()
    model = serializers.CharField()
    model_version = serializers.CharField(allow_blank=True)
    case = serializers.CharField(allow_blank=True, help_text="name; empty: random data")
    batch = serializers.IntegerField()
    shapes = serializers.DictField(child=serializers.ListField(child=serializers.IntegerField()))
    mode = serializers.ChoiceField(choices=MODES)
    levels = serializers.ListField(child=serializers.FloatField())
    seconds = serializers.FloatField()
    warm_up_s = serializers.FloatField()
    slo_percentile = serializers.ChoiceField(choices=PERCENTILES, allow_null=True)
    slo_ms = serializers.FloatField(allow_null=True)
    expected_s = serializers.FloatField(help_text="that all points take, the last level included")
    traffic = serializers.IntegerField(help_text="percent that it got when the sweep began")
    stopped_by = serializers.CharField(
        allow_blank=True, help_text="why it ended before the last level"
    )
    error = ProblemSerializer(allow_null=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="LoadSweepSummary")
class SweepRowSerializer(SweepSummarySerializer):
    measured = serializers.IntegerField(help_text="points")


@extend_schema_serializer(component_name="LoadSweep")
class SweepSerializer(SweepSummarySerializer):
    points = SweepPointSerializer(many=True)
    knee = serializers.FloatField(
        allow_null=True, help_text="level at which throughput over mean latency is greatest"
    )
    knee_throughput = serializers.FloatField(allow_null=True)
    slo_level = serializers.FloatField(
        allow_null=True, help_text="of the greatest throughput within the objective"
    )
    slo_throughput = serializers.FloatField(allow_null=True)
    perf_analyzer = serializers.CharField(help_text="the command that measures nearly the same")
