"""Shapes of the autoscaler: policies as they are taken and shown, and what it decided.

What is out of range is refused by ``autoscaling.Policy`` itself, which names it.
"""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.autoscaling import Policy, Targets, policy_from_json, policy_to_json
from controlplane.deployments.serializers.ranges import RangeField

Fields = serializers.Serializer[Any]
LIMIT_CRON_CHARS = 100
SIDE_HELP = {
    "window_s": "so many seconds the load must have asked for it",
    "cooldown_s": "so many seconds nothing happens after any change",
    "per_minute": "replicas at most; null: as many as are wanted",
}
DEFAULT = policy_to_json(Policy(max=1, targets=Targets(in_flight=1)))


def _number(help_text: str) -> serializers.FloatField:
    return serializers.FloatField(
        required=False, allow_null=True, default=None, help_text=help_text
    )


class TargetsSerializer(Fields):
    """What one replica shall carry; the one that wants most replicas wins."""

    in_flight = _number("requests at a time")
    requests_per_second = _number("requests that it answers each second")
    queue_ms = _number("mean wait in the queue, milliseconds")
    cpu_percent = _number("of the processors of its instance type, or else of its node")
    gpu_percent = _number("of the GPUs that it may use")


class SideFields(Fields):
    # why no docstring: what inherits it would be described by it in the OpenAPI document
    side: ClassVar[str]

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {
            name: serializers.IntegerField(
                required=False,
                allow_null=name == "per_minute",
                default=DEFAULT[self.side][name],
                help_text=text,
            )
            for name, text in SIDE_HELP.items()
        }


@extend_schema_serializer(component_name="AutoscaleUp")
class UpSerializer(SideFields):
    side = "up"


@extend_schema_serializer(component_name="AutoscaleDown")
class DownSerializer(SideFields):
    side = "down"


@extend_schema_serializer(component_name="AutoscaleIdle")
class IdleSerializer(Fields):
    """What `min: 0` means: a request wakes it, and waits at its gateway meanwhile."""

    after_s = serializers.IntegerField(
        required=False,
        default=DEFAULT["idle"]["after_s"],
        help_text="without a request for so many seconds, no replica is left",
    )
    hold_s = serializers.IntegerField(
        required=False,
        default=DEFAULT["idle"]["hold_s"],
        help_text="so many seconds a request waits for a replica, then it is told 503",
    )
    most_held = serializers.IntegerField(
        required=False,
        default=DEFAULT["idle"]["most_held"],
        help_text="requests that wait at a time, at each gateway; more are told 503",
    )


class ScheduleSerializer(Fields):
    """From each time of `start` to the next of `end`."""

    start = serializers.CharField(max_length=LIMIT_CRON_CHARS, help_text="cron, five fields")
    end = serializers.CharField(max_length=LIMIT_CRON_CHARS, help_text="cron, five fields")
    time_zone = serializers.CharField(
        max_length=LIMIT_CRON_CHARS, required=False, default="UTC", help_text="of the IANA database"
    )
    min = serializers.IntegerField(help_text="at least so many replicas meanwhile")
    max = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="in place of the policy's"
    )


@extend_schema_serializer(component_name="AutoscalePolicy")
class PolicySerializer(Fields):
    """How many replicas there shall be, from what they carry and the time."""

    enabled = serializers.BooleanField(
        required=False, default=True, help_text="false: paused, people decide"
    )
    min = serializers.IntegerField(
        required=False, default=1, help_text="0: none where nothing is asked of it, see `idle`"
    )
    max = serializers.IntegerField()
    targets = TargetsSerializer(required=False, default=dict)
    tolerance_percent = serializers.IntegerField(
        required=False,
        default=DEFAULT["tolerance_percent"],
        help_text="so far from a target nothing happens",
    )
    interval_s = serializers.IntegerField(
        required=False, default=DEFAULT["interval_s"], help_text="between two looks"
    )
    up = UpSerializer(required=False, default=dict)
    down = DownSerializer(required=False, default=dict)
    idle = IdleSerializer(required=False, default=dict)
    schedules = ScheduleSerializer(many=True, required=False, default=list)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(data)
        return policy_to_json(policy_from_json(value)) if value is not None else None


class AutoscalePreviewInputSerializer(Fields):
    autoscale = PolicySerializer(
        required=False, allow_null=True, default=None, help_text="null: the one that it has"
    )
    hours = RangeField(required=False, default=24, least=1, most=48, help_text="up to now")


class ReplayChangeSerializer(Fields):
    at = serializers.FloatField(help_text="Unix seconds")
    count = serializers.IntegerField(help_text="replicas from then on")
    reason = serializers.CharField()


@extend_schema_serializer(component_name="AutoscalePreview")
class ReplaySerializer(Fields):
    """What would have run, by the means of minutes, if each replica started at once."""

    least = serializers.IntegerField()
    most = serializers.IntegerField()
    replica_hours = serializers.FloatField()
    seconds = serializers.FloatField(
        help_text="that were looked at: from the first that was measured to the last"
    )
    measured_s = serializers.FloatField(help_text="of these, with samples")
    changes = ReplayChangeSerializer(many=True)
    ignored = serializers.ListField(
        child=serializers.CharField(),
        help_text="targets of which nothing of before tells, as they depend on how many ran",
    )


@extend_schema_serializer(component_name="AutoscaleStatus")
class AutoscalingSerializer(Fields):
    """What the autoscaler decided last."""

    wanted = serializers.IntegerField(help_text="replicas")
    asked = serializers.IntegerField(
        allow_null=True, help_text="by the load alone; null: it is not known"
    )
    reason = serializers.CharField(help_text="one sentence with the figures")
    figures = serializers.DictField(
        child=serializers.FloatField(), help_text="what one replica carries, by target"
    )
    blocked = serializers.CharField(
        allow_blank=True, help_text="what stands in the way of it; empty: nothing does"
    )
    blocked_by = serializers.CharField(
        allow_blank=True,
        help_text="`OperationInProgress`, `OutOfCapacity`, `LastChangeFailed`, `Paused`, "
        "`NotSucceeded`, `RolloutInProgress` (a switch may still go back to it), or empty",
    )
    decided_at = serializers.DateTimeField()
