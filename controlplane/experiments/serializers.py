"""JSON of how the arms of a split compare, and how a change of it does."""

from rest_framework import serializers

from controlplane.deployments.serializers.traffic_change import TrafficChangeSerializer
from controlplane.experiments.comparison import Verdict
from controlplane.experiments.traffic_watch import WatchVerdict

LEAST_S, LONGEST_S, DEFAULT_S = 60, 86_400, 3600
VERDICTS = [(str(one), str(one)) for one in Verdict]
WATCH_VERDICTS = [(str(one), str(one)) for one in WatchVerdict]


class ExperimentQuery(serializers.Serializer[None]):
    baseline = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="the arm that the others are compared with; without it the largest share",
    )
    range = serializers.IntegerField(
        min_value=LEAST_S,
        max_value=LONGEST_S,
        required=False,
        default=DEFAULT_S,
        help_text="the last so many seconds, by the minute",
    )


class ExperimentDifferenceSerializer(serializers.Serializer[None]):
    measure = serializers.CharField()
    title = serializers.CharField()
    bad = serializers.IntegerField(help_text="of `of` requests, where both arms answered")
    of = serializers.IntegerField()
    baseline_bad = serializers.IntegerField()
    baseline_of = serializers.IntegerField()
    worse = serializers.FloatField(help_text="how sure, 0 to 1, whenever somebody looks")
    better = serializers.FloatField(help_text="likewise")
    needed = serializers.FloatField(help_text="from which on it is a verdict")
    verdict = serializers.ChoiceField(choices=VERDICTS)


class ArmGoldenSerializer(serializers.Serializer[None]):
    """Of its newest rollout, if it ran what it runs now."""

    at = serializers.DateTimeField()
    cases = serializers.IntegerField()
    wrong = serializers.IntegerField()
    unanswered = serializers.IntegerField()
    text = serializers.CharField()


class ArmAnswersSerializer(serializers.Serializer[None]):
    """Inputs that a rollout asked both versions."""

    differed = serializers.IntegerField(help_text="from the stable version's, of `inputs`")
    inputs = serializers.IntegerField()
    baseline_differed = serializers.IntegerField(help_text="of the stable version from itself")
    baseline_inputs = serializers.IntegerField()
    worse = serializers.FloatField(help_text="how sure, 0 to 1")
    example = serializers.CharField(allow_blank=True)


class ExperimentArmSerializer(serializers.Serializer[None]):
    deployment = serializers.CharField()
    model = serializers.CharField()
    version = serializers.IntegerField()
    revision = serializers.IntegerField()
    asked_percent = serializers.IntegerField(help_text="its share now")
    measured_percent = serializers.FloatField(
        allow_null=True, help_text="of all requests of the arms; null: there were none"
    )
    rules = serializers.ListField(child=serializers.CharField())
    requests = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="5xx, and what gRPC calls our side")
    refused = serializers.IntegerField(help_text="4xx by the deployment")
    failed_share = serializers.FloatField(allow_null=True)
    failed_low = serializers.FloatField(help_text="where the share surely begins, by `interval`")
    failed_high = serializers.FloatField(help_text="where it ends")
    p50_us = serializers.FloatField(allow_null=True)
    p95_us = serializers.FloatField(allow_null=True)
    p99_us = serializers.FloatField(allow_null=True)
    missing = serializers.IntegerField(help_text="requests until there can be a verdict")
    verdict = serializers.ChoiceField(
        choices=VERDICTS, help_text="beside the baseline; of the baseline itself no difference"
    )
    text = serializers.CharField(help_text="one sentence, with the figures")
    differences = ExperimentDifferenceSerializer(many=True, help_text="none of the baseline")
    golden = ArmGoldenSerializer(allow_null=True)
    answers = ArmAnswersSerializer(allow_null=True)


class ExperimentSerializer(serializers.Serializer[None]):
    endpoint = serializers.CharField()
    seconds = serializers.FloatField()
    baseline = serializers.CharField(allow_blank=True, help_text="empty: there is no arm")
    interval = serializers.FloatField(help_text="confidence of failed_low to failed_high, one look")
    changed_at = serializers.DateTimeField(
        allow_null=True, help_text="when shares, rules or settings were changed last"
    )
    notes = serializers.ListField(child=serializers.CharField())
    arms = ExperimentArmSerializer(many=True, help_text="the baseline first")


class WatchFiguresSerializer(serializers.Serializer[None]):
    requests = serializers.IntegerField()
    error_share = serializers.FloatField(
        allow_null=True, help_text="of answers from 400 on, 0 to 1; null: there were no answers"
    )
    p95_us = serializers.FloatField(allow_null=True)


class WatchGainingSerializer(serializers.Serializer[None]):
    deployment = serializers.CharField()
    figures = WatchFiguresSerializer()
    compared = serializers.BooleanField(help_text="enough came before the change to compare with")
    verdict = serializers.ChoiceField(choices=WATCH_VERDICTS)


class WatchFoundSerializer(serializers.Serializer[None]):
    before = WatchFiguresSerializer(help_text="of the endpoint, in the five minutes before")
    gaining = WatchGainingSerializer(
        many=True, help_text="who got a larger share, or a rule, since the change was routed"
    )
    verdict = serializers.ChoiceField(
        choices=WATCH_VERDICTS,
        help_text="the worst of them; nobody: no deployment answers; none_gains: none got more",
    )
    text = serializers.CharField()


class TrafficWatchSerializer(serializers.Serializer[None]):
    endpoint = serializers.CharField()
    change = TrafficChangeSerializer(
        allow_null=True, help_text="as the endpoint has it in `traffic_change`"
    )
    left_s = serializers.FloatField(allow_null=True, help_text="null: it is not being watched now")
    found = WatchFoundSerializer(allow_null=True, help_text="null without a change")
