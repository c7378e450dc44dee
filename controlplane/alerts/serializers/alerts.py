"""Shapes of alerts, rules and silences."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.alerts.types import AlertState, Severity, ThresholdKind
from controlplane.core.filters import ChoicesField
from controlplane.core.numbers import NumberField
from controlplane.core.pagination import PageQuery

Fields = serializers.Serializer[Any]
MOST_FOR_S = 86_400


class AlertsQuery(PageQuery):
    state = ChoicesField(AlertState.values)
    rule = serializers.CharField(required=False, default="", allow_blank=True)
    subject = serializers.CharField(required=False, default="", allow_blank=True)
    project = serializers.CharField(required=False, default="", allow_blank=True)


@extend_schema_serializer(component_name="Alert")
class AlertSerializer(Fields):
    id = serializers.CharField()
    rule = serializers.CharField()
    title = serializers.CharField()
    severity = serializers.ChoiceField(choices=Severity.choices)
    state = serializers.ChoiceField(choices=AlertState.choices)
    subject = serializers.CharField(help_text="`endpoint/quote`, `node/local`, `installation`")
    part = serializers.CharField(allow_blank=True, help_text="of the subject: an objective, ...")
    project = serializers.CharField(allow_null=True, help_text="null: of the installation")
    value = serializers.FloatField(allow_null=True)
    summary = serializers.CharField(help_text="a sentence with the figures")
    untold = serializers.CharField(
        allow_blank=True, help_text="why nobody can tell how it is now; it stays as it is then"
    )
    started_at = serializers.DateTimeField()
    fired_at = serializers.DateTimeField(allow_null=True)
    resolved_at = serializers.DateTimeField(allow_null=True)
    resolution = serializers.CharField(allow_blank=True)
    acknowledged_by = serializers.CharField(allow_blank=True)
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    notified_at = serializers.DateTimeField(allow_null=True, help_text="channels were told")
    silenced_until = serializers.DateTimeField(allow_null=True)
    silence = serializers.CharField(allow_blank=True, help_text="id of the silence")
    page = serializers.CharField(help_text="path in the studio of what it is about")
    runbook = serializers.CharField(allow_blank=True, help_text="place in the documentation")


@extend_schema_serializer(component_name="AlertCounts")
class AlertCountsSerializer(Fields):
    open = serializers.IntegerField(help_text="fire, and are neither silenced nor acknowledged")
    firing = serializers.IntegerField()
    pending = serializers.IntegerField()


@extend_schema_serializer(component_name="AlertThreshold")
class AlertThresholdSerializer(Fields):
    rule = serializers.CharField()
    about = serializers.CharField(help_text="`project/vision`, `endpoint/quote`, `node/local`")
    threshold = serializers.FloatField(allow_null=True, help_text="its own; null: it has none")
    effective = serializers.FloatField(help_text="what counts for it")
    source = serializers.CharField(  # type: ignore[assignment]  # a wire field
        help_text="where that comes from: one of the above, or `installation`"
    )
    installation = serializers.FloatField(help_text="what counts where nothing else is set")
    unit = serializers.CharField()
    changed_by = serializers.CharField(allow_blank=True)
    changed_at = serializers.DateTimeField(allow_null=True)
    etag = serializers.CharField(help_text="for `If-Match`")


@extend_schema_serializer(component_name="AlertThresholdInput")
class AlertThresholdInputSerializer(Fields):
    threshold = NumberField()


@extend_schema_serializer(component_name="AlertRule")
class AlertRuleSerializer(Fields):
    name = serializers.CharField()
    title = serializers.CharField()
    about = serializers.CharField()
    enabled = serializers.BooleanField()
    threshold = serializers.FloatField(allow_null=True, help_text="null: it has none")
    default_threshold = serializers.FloatField(allow_null=True)
    unit = serializers.CharField(allow_blank=True)
    for_s = serializers.IntegerField(help_text="broken for so long before it fires")
    clear_s = serializers.IntegerField(help_text="whole for so long before it is resolved")
    severity = serializers.ChoiceField(choices=Severity.choices)
    runbook = serializers.CharField()
    steps = serializers.ListField(child=serializers.CharField())
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=ThresholdKind.values),
        help_text="of what may have a threshold of its own",
    )
    thresholds = AlertThresholdSerializer(
        many=True, help_text="of those who have their own, as far as one may see them"
    )


@extend_schema_serializer(component_name="AlertRuleList")
class AlertRuleListSerializer(Fields):
    items = AlertRuleSerializer(many=True)


@extend_schema_serializer(component_name="AlertRuleChange")
class AlertRuleChangeSerializer(Fields):
    """What is left out stays; null is as it is built in."""

    enabled = serializers.BooleanField(required=False)
    threshold = NumberField(required=False, allow_null=True)
    for_s = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=MOST_FOR_S
    )
    severity = serializers.ChoiceField(choices=Severity.choices, required=False, allow_null=True)


@extend_schema_serializer(component_name="SilenceInput")
class SilenceInputSerializer(Fields):
    """What is left out matches everything."""

    rule = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    subject = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=255,
        help_text="`endpoint/quote`, `node/local`, `installation`",
    )  # fmt: skip
    project = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=32,
        help_text="that of an endpoint named as subject unless said",
    )  # fmt: skip
    reason = serializers.CharField(max_length=500)
    ends_at = serializers.DateTimeField(help_text="within 90 days")


@extend_schema_serializer(component_name="Silence")
class SilenceSerializer(Fields):
    id = serializers.CharField()
    rule = serializers.CharField(allow_blank=True)
    subject = serializers.CharField(allow_blank=True)
    project = serializers.CharField(
        source="project_id", allow_null=True, help_text="null: the installation and all projects"
    )
    reason = serializers.CharField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    created_by = serializers.CharField()
