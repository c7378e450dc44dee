"""Shapes of time series on the wire, and how a stretch of time is asked for."""

from dataclasses import replace
from typing import Any, Final

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.metrics.formulas import (
    AT_GATEWAY,
    BATCH_S,
    GPU,
    HOST,
    METRICS,
    OF_REPLICAS,
    SIZED,
)
from controlplane.metrics.selectors import Columns, History, Query, ReplicaHistory
from controlplane.metrics.types import KEEP_ROLL_UPS_S

LONGEST_S = int(KEEP_ROLL_UPS_S)
MOST_IDS = 12
KINDS = ("endpoint", "deployment", "model", "node")


def _described(measured: str, window_s: float) -> dict[str, Any]:
    return {"measured": measured, "window_s": window_s}


# Name of each series -> where it is measured, and over how many seconds (0: as it stands now);
# points that are wider are their own window.
SERIES: Final = {
    **{
        name: _described("gateway" if name in AT_GATEWAY else "runtime", metric.window_s)
        for name, metric in METRICS.items()
    },
    **{name: _described("runtime", BATCH_S) for name in SIZED},
    **{name: _described("node", 0.0) for name in HOST},
    **{f"gpu{{index}}_{gauge}": _described("node", 0.0) for gauge in GPU},
}


class LiveSerializer(serializers.Serializer[Any]):
    """Of an endpoint, in the last seconds, as callers saw it at the gateways; None where nothing is
    known."""

    answer_rate = serializers.FloatField(
        allow_null=True,
        help_text="requests that gateways answered per second, whatever the status; 0 while "
        "replicas are sampled and nobody calls",
    )
    p95_us = serializers.FloatField(allow_null=True)
    error_rate = serializers.FloatField(allow_null=True, help_text="0..1, share of all answers")


class ListField(serializers.CharField):
    """``a,b`` as a list without empty entries."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, required=False, default="", allow_blank=True)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return [part.strip() for part in super().run_validation(data).split(",") if part.strip()]


class TimeQuery(serializers.Serializer[Any]):
    """``range`` back from now, or ``from`` and ``to``."""

    range = serializers.IntegerField(
        min_value=1, max_value=LONGEST_S, default=300, help_text="seconds back from now"
    )
    to = serializers.FloatField(
        required=False, default=None, min_value=0, help_text="Unix seconds; default: now"
    )
    step = serializers.FloatField(
        required=False,
        default=0.0,
        min_value=0.0,
        max_value=86_400,
        help_text="seconds; a coarser one is taken where there would be more than 600 points",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # why here: ``from`` is no name that a class body can have
        since = serializers.FloatField(
            required=False, default=None, min_value=0, help_text="Unix seconds, instead of `range`"
        )
        return {**super().get_fields(), "from": since}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        since, until = attrs["from"], attrs["to"]
        if since is not None and until is not None and not 0 < until - since <= LONGEST_S:
            raise serializers.ValidationError(
                {"to": [f"After `from`, and at most {LONGEST_S} s later, not {until:g}."]}
            )
        return attrs


class EndpointMetricsQuery(TimeQuery):
    node = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="only what ran there"
    )
    metrics = ListField(help_text="names separated by commas; default: all")
    by = serializers.ChoiceField(
        choices=("deployment", "replica"),
        default="deployment",
        help_text="`replica`: at most 12 replicas, each on its own, of the last 6 hours; keys are "
        "`<metric>.replica:<deployment>/<id>`",
    )
    deployment = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="with `by=replica` only its replicas",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if attrs["by"] != "replica":
            if attrs["deployment"]:
                raise serializers.ValidationError({"deployment": ["Only with `by=replica`."]})
            return attrs
        gateway = [name for name in attrs["metrics"] if name in AT_GATEWAY]
        unknown = [name for name in attrs["metrics"] if name not in {*AT_GATEWAY, *OF_REPLICAS}]
        if gateway:
            raise serializers.ValidationError(
                {"metrics": [f"Measured at the gateway, which knows no replica: {gateway}."]}
            )
        if unknown:
            known = ", ".join(sorted(OF_REPLICAS))
            raise serializers.ValidationError({"metrics": [f"Unknown: {unknown}. Known: {known}."]})
        return attrs


class MetricsQuery(TimeQuery):
    by = serializers.ChoiceField(choices=KINDS)
    ids = ListField(help_text=f"at most {MOST_IDS}, by commas; deployments as endpoint/deployment")
    metrics = ListField(help_text="names separated by commas")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if not 0 < len(attrs["ids"]) <= MOST_IDS:
            raise serializers.ValidationError(
                {"ids": [f"1 to {MOST_IDS} are expected, not {len(attrs['ids'])}."]}
            )
        if attrs["by"] == "deployment" and any(one.count("/") != 1 for one in attrs["ids"]):
            raise serializers.ValidationError({"ids": ["Expected endpoint/deployment."]})
        names = attrs["metrics"]
        known = {*METRICS, *SIZED, *HOST}
        unknown = [one for one in names if one not in known and not one.startswith("gpu")]
        if not names or unknown:
            raise serializers.ValidationError(
                {"metrics": [f"Unknown: {unknown}. Known: {', '.join(sorted(known))}."]}
            )
        return attrs


@extend_schema_serializer(extensions={"x-series": SERIES})
class SeriesSerializer(serializers.Serializer[Any]):
    keys = serializers.ListField(child=serializers.CharField())
    t = serializers.ListField(
        child=serializers.FloatField(), help_text="Unix seconds, ends of the buckets"
    )
    v = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="one list per key, one value per time; null is a gap",
    )
    low = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="the lowest value in each bucket; empty where points are not buckets",
    )
    high = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
    )
    step_s = serializers.FloatField(help_text="width of a bucket")
    resolution = serializers.ChoiceField(choices=["live", "samples", "minutes", "hours"])
    left_out = serializers.IntegerField(
        required=False, help_text="with `by=replica`: replicas that were sampled, beyond these"
    )


def query_of(values: dict[str, Any], now: float, *, since: float = 0.0) -> Query:
    """Of nothing before ``since``, in Unix seconds."""
    end = now if values["to"] is None else values["to"]
    start = end - values["range"] if values["from"] is None else values["from"]
    start = max(start, end - LONGEST_S, since)
    query = Query(start=start, end=max(end, start), step_s=values["step"])
    # why a bucket later: the first one began before
    start = max(start, since + query.bucket_s)
    return replace(query, start=start, end=max(query.end, start)) if since else query


def history_body(found: History) -> dict[str, Any]:
    # why not the serializer: hundreds of thousands of numbers that are right already
    return {
        "keys": found.keys,
        "t": found.t,
        "v": found.v,
        "low": found.low,
        "high": found.high,
        "step_s": found.step_s,
        "resolution": found.resolution,
    }


def replicas_body(of: ReplicaHistory) -> dict[str, Any]:
    return {**history_body(of.found), "left_out": of.left_out}


def live_body(found: Columns) -> dict[str, Any]:
    step_s = found.t[1] - found.t[0] if len(found.t) > 1 else 0.0
    return {
        "keys": found.keys,
        "t": found.t,
        "v": found.v,
        "low": [],
        "high": [],
        "step_s": step_s,
        "resolution": "live",
    }
