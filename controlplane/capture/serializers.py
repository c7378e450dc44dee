"""Shapes of captured data: files, statistics of features, baselines."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from controlplane.capture.models import WINDOW_HOURS, CaptureBaseline, CapturedFile
from controlplane.capture.selectors import LONGEST_HOURS, Feature, Statistics
from controlplane.core.etags import etag_of
from controlplane.core.pagination import page_of
from controlplane.deployments.models import Deployment
from controlplane.drift import LEAST_ROWS, Sketch, Verdict

Fields = serializers.Serializer[Any]
WINDOW_SAID = f"so many hours until now are held against it, 1 to {LONGEST_HOURS}"
WINDOW_LEFT_OUT = f"left out: as many as before, {WINDOW_HOURS} at first"


class CapturedFileSerializer(serializers.ModelSerializer[CapturedFile]):
    class Meta:
        model = CapturedFile
        fields = ["id", "replica", "size", "records", "dropped", "first_at", "last_at",
                  "expires_at"]  # fmt: skip
        extra_kwargs = {
            "dropped": {"help_text": "requests before these for which there was no room"},
            "expires_at": {"help_text": "it is removed then, or sooner for want of room"},
        }


CapturedFilePageSerializer = page_of(CapturedFileSerializer)


class CapturedRequestQuery(Fields):
    at = serializers.FloatField(
        min_value=0, max_value=1e11, help_text="Unix seconds at which it was sent"
    )


class CapturedInputSerializer(Fields):
    name = serializers.CharField()
    datatype = serializers.CharField()
    shape = serializers.ListField(child=serializers.IntegerField())
    data = serializers.ListField(  # type: ignore[assignment]  # a wire field
        child=serializers.JSONField()
    )


class CapturedRequestSerializer(Fields):
    id = serializers.CharField(help_text="x-request-id")
    model = serializers.CharField()
    version = serializers.IntegerField()
    time = serializers.CharField()
    inputs = CapturedInputSerializer(many=True, help_text="those that can be sent again")
    told = serializers.CharField(help_text="why others cannot")


class CaptureBarSerializer(Fields):
    label = serializers.CharField()  # type: ignore[assignment]  # a wire field
    baseline = serializers.FloatField(allow_null=True)
    now = serializers.FloatField()


class CaptureSketchSerializer(Fields):
    kind = serializers.ChoiceField(choices=["number", "text"])
    rows = serializers.IntegerField(help_text="requests, or rows of them")
    values = serializers.IntegerField()
    missing = serializers.IntegerField(help_text="null, or no finite number")
    min = serializers.FloatField(allow_null=True)
    max = serializers.FloatField(allow_null=True)
    mean = serializers.FloatField(allow_null=True)
    shapes = serializers.DictField(
        child=serializers.IntegerField(), help_text="of its tensors, with how often they came"
    )


class CaptureFeatureSerializer(Fields):
    name = serializers.CharField(help_text="`x`, or `x[3]` of a tensor of rows")
    collection = serializers.CharField(help_text="`model_inputs` or `model_outputs`")
    now = CaptureSketchSerializer(allow_null=True)
    baseline = CaptureSketchSerializer(allow_null=True)
    verdict = serializers.ChoiceField(choices=[one.value for one in Verdict])
    told = serializers.CharField(allow_blank=True, help_text="what stands in the way of a verdict")
    psi = serializers.FloatField(allow_null=True, help_text="population stability index")
    ks = serializers.FloatField(allow_null=True, help_text="statistic of Kolmogorov and Smirnov")
    p_value = serializers.FloatField(allow_null=True)
    bars = CaptureBarSerializer(many=True)


class CaptureBaselineSerializer(Fields):
    source = serializers.CharField()  # type: ignore[assignment]  # a wire field
    records = serializers.IntegerField()
    set_by = serializers.CharField()
    set_at = serializers.DateTimeField()
    begins_at = serializers.DateTimeField(
        allow_null=True, help_text="of captured data: from when; null: of a file"
    )
    ends_at = serializers.DateTimeField(allow_null=True)
    window_hours = serializers.IntegerField(help_text="so many, until now, are held against it")
    etag = serializers.CharField(help_text="for `If-Match`")


class CaptureStatisticsSerializer(Fields):
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    capturing = serializers.BooleanField(help_text="by its revision of now")
    hours = serializers.IntegerField()
    records = serializers.IntegerField()
    left_out = serializers.IntegerField(
        help_text="requests in the window of which the baseline was made: not compared with it"
    )
    dropped = serializers.IntegerField()
    least_rows = serializers.IntegerField(help_text="with fewer there is no verdict")
    untold_features = serializers.IntegerField(help_text="beyond the most that are kept")
    baseline = CaptureBaselineSerializer(allow_null=True)
    features = CaptureFeatureSerializer(many=True)


class CaptureStatisticsQuery(Fields):
    hours = serializers.IntegerField(
        required=False, default=None, min_value=1, max_value=LONGEST_HOURS
    )


class WindowField(serializers.IntegerField):
    """Hours, until now, that are held against a baseline."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=LONGEST_HOURS, **options)


class CaptureWindowSerializer(Fields):
    window_hours = WindowField()


class CaptureBaselineFileQuery(Fields):
    window_hours = WindowField(
        required=False, default=None, help_text=f"{WINDOW_SAID}, {WINDOW_LEFT_OUT}"
    )


class CaptureBaselineInputSerializer(Fields):
    """Whole hours: those in which it begins and ends count in full."""

    begin = serializers.DateTimeField()
    end = serializers.DateTimeField(required=False, default=timezone.now)
    window_hours = WindowField(required=False, default=None, help_text=WINDOW_LEFT_OUT)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["begin"] > attrs["end"]:
            raise serializers.ValidationError(
                {"begin": f"{attrs['begin'].isoformat()} is after the end, expected before it."}
            )
        return attrs


def statistics_shown(
    deployment: Deployment, baseline: CaptureBaseline | None, found: Statistics
) -> dict[str, Any]:
    return {
        "endpoint": deployment.endpoint.name,
        "deployment": deployment.name,
        "capturing": deployment.revision.settings.capture is not None,
        "hours": found.hours,
        "records": found.records,
        "left_out": found.left_out,
        "dropped": found.dropped,
        "least_rows": LEAST_ROWS,
        "untold_features": found.untold_features,
        "baseline": None if baseline is None else baseline_shown(baseline),
        "features": [_feature(one) for one in found.features],
    }


def baseline_shown(row: CaptureBaseline) -> dict[str, Any]:
    names = ("source", "records", "set_by", "begins_at", "ends_at", "window_hours")
    said = {**{name: getattr(row, name) for name in names}, "set_at": row.updated_at}
    return {**said, "etag": etag_of(row.source, row.set_by, row.updated_at, row.window_hours)}


def _feature(one: Feature) -> dict[str, Any]:
    collection, _, name = one.key.partition("/")
    judged = one.comparison
    return {
        "name": name,
        "collection": collection,
        "now": _sketch(one.now),
        "baseline": _sketch(one.baseline),
        "verdict": judged.verdict,
        "told": judged.told,
        "psi": judged.psi,
        "ks": judged.ks,
        "p_value": judged.p_value,
        "bars": one.bars,
    }


def _sketch(sketch: Sketch | None) -> dict[str, Any] | None:
    if sketch is None:
        return None
    return {
        "kind": sketch.kind,
        "rows": sketch.rows,
        "values": sketch.count,
        "missing": sketch.missing,
        "min": sketch.low,
        "max": sketch.high,
        "mean": sketch.mean,
        "shapes": sketch.shapes or {},
    }
