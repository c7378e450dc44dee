"""Shapes of objectives; what is out of range is refused by ``objectives.objective_asked``."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.alerts.selectors.objectives import STATES
from controlplane.core.numbers import NumberField
from controlplane.objectives import Kind, Speed

Fields = serializers.Serializer[Any]


@extend_schema_serializer(component_name="ObjectiveInput")
class ObjectiveInputSerializer(Fields):
    kind = serializers.ChoiceField(choices=[kind.value for kind in Kind])
    target_percent = NumberField(help_text="of the requests that shall be good, 50 to 99.999")
    window_days = serializers.IntegerField(required=False, default=28, help_text="1 to 28")
    threshold_ms = NumberField(
        required=False,
        default=None,
        allow_null=True,
        help_text="of latency: a bound of shoal_gateway_request_seconds, in milliseconds",
    )


@extend_schema_serializer(component_name="NamedObjectiveInput")
class NamedObjectiveInputSerializer(ObjectiveInputSerializer):
    name = serializers.CharField(max_length=32)


@extend_schema_serializer(component_name="BurnRate")
class BurnRateSerializer(Fields):
    """A long and a short window. A rate of 1 uses the budget up in the objective's window."""

    speed = serializers.ChoiceField(choices=[speed.value for speed in Speed])
    long_s = serializers.FloatField()
    short_s = serializers.FloatField()
    factor = serializers.FloatField(help_text="both rates must be above it")
    long_rate = serializers.FloatField(allow_null=True, help_text="null without a request")
    short_rate = serializers.FloatField(allow_null=True)
    long_requests = serializers.IntegerField()
    burning = serializers.BooleanField(allow_null=True, help_text="null: nobody can tell")


@extend_schema_serializer(component_name="Objective")
class ObjectiveSerializer(Fields):
    name = serializers.CharField()
    endpoint = serializers.CharField()
    kind = serializers.ChoiceField(choices=[kind.value for kind in Kind])
    target_percent = serializers.FloatField()
    window_days = serializers.IntegerField()
    threshold_ms = serializers.FloatField(allow_null=True)
    state = serializers.ChoiceField(choices=STATES)
    told = serializers.CharField(allow_blank=True, help_text="why nothing can be told of now")
    requests = serializers.IntegerField(help_text="of the window")
    bad_requests = serializers.IntegerField()
    good_percent = serializers.FloatField(allow_null=True)
    budget_left = serializers.FloatField(
        allow_null=True, help_text="1 is all of it, 0 none; less: more was bad than may be"
    )
    burn_rates = BurnRateSerializer(many=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="ObjectiveList")
class ObjectiveListSerializer(Fields):
    items = ObjectiveSerializer(many=True)


@extend_schema_serializer(component_name="ObjectivePoint")
class PointSerializer(Fields):
    at = serializers.FloatField(help_text="Unix seconds of the bucket's end")
    total = serializers.IntegerField()
    bad = serializers.IntegerField()
    budget_left = serializers.FloatField(
        allow_null=True, help_text="then, of the budget of all requests of the window"
    )


@extend_schema_serializer(component_name="ObjectiveHistory")
class ObjectiveHistorySerializer(Fields):
    step_s = serializers.FloatField()
    points = PointSerializer(many=True)
