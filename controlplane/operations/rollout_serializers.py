"""Shapes of rollouts on the wire; what is out of range is refused by ``rollouts.Plan`` itself."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.deployments.serializers.endpoints import Fields
from controlplane.operations.types import RolloutState, StageStatus
from controlplane.rollouts import (
    ASKED_AGAIN,
    BY_STEPS,
    LONGEST_CAPTURED_HOURS,
    MEASURES,
    MOST_COPIED,
    SOURCES,
    STRATEGIES,
    WAYS,
)


@extend_schema_serializer(component_name="RolloutStepInput")
class StepInputSerializer(Fields):
    percent = serializers.IntegerField(help_text="of the traffic, for the candidate")
    hold_s = serializers.IntegerField(
        required=False,
        help_text="so many seconds at least before the next step, 300 unless said; the last has "
        "none (0), but after a switch, which is watched for as long",
    )


@extend_schema_serializer(component_name="RolloutShadow")
class ShadowSerializer(Fields):
    """Copies of requests before any traffic; nobody reads their answers."""

    percent = serializers.IntegerField(
        help_text=f"of the requests, 1 to {MOST_COPIED}, are copied to the candidate"
    )
    hold_s = serializers.IntegerField(
        required=False, default=300, help_text="so many seconds at least before the first step"
    )


@extend_schema_serializer(component_name="RolloutGuardrailInput")
class GuardrailInputSerializer(Fields):
    tolerance = serializers.FloatField(
        required=False,
        help_text="so many times as much as the stable version is no concern (of `errors` and "
        "`refusals` the odds, of latencies the time); of `restarts`: so many",
    )
    confidence = serializers.FloatField(
        required=False, help_text="that the candidate is worse, from which on it is withdrawn"
    )


@extend_schema_serializer(component_name="RolloutGuardrailsInput")
class GuardrailsInputSerializer(Fields):
    """One that is left out has its defaults; null: it is not looked at."""

    def get_fields(self) -> dict[str, serializers.Field[object, object, object, object]]:
        return {
            name: GuardrailInputSerializer(required=False, allow_null=True, help_text=measure.title)
            for name, measure in MEASURES.items()
        }


@extend_schema_serializer(component_name="RolloutCompareInput")
class CompareInputSerializer(Fields):
    """Inputs that both versions are asked; the guardrail `answers` compares."""

    per_minute = serializers.IntegerField(
        help_text=f"inputs; each is one request of the candidate and {ASKED_AGAIN + 1} of the "
        "stable version"
    )
    by = serializers.ChoiceField(
        choices=list(WAYS),
        required=False,
        help_text="`best_class`: scores of classes agree where the best class does",
    )
    relative = serializers.FloatField(required=False, help_text="of the expected value; 1e-3")
    absolute = serializers.FloatField(required=False, help_text="besides; 1e-5")
    sources = serializers.ListField(
        child=serializers.ChoiceField(choices=list(SOURCES)),
        required=False,
        max_length=len(SOURCES),
        help_text="of inputs, which take turns: saved `cases`, `random` ones, and requests of "
        "clients that the stable deployment has `captured`; all of them unless said",
    )
    captured_hours = serializers.IntegerField(
        required=False,
        help_text=f"captured requests of so many hours until now; 24, {LONGEST_CAPTURED_HOURS} at "
        "most",
    )


@extend_schema_serializer(component_name="RolloutPlanInput")
class PlanInputSerializer(Fields):
    """Steps and what is looked at; `{}` has the defaults of all."""

    steps = StepInputSerializer(
        many=True,
        required=False,
        help_text="rising percents, of which the last is 100; 1, 10, 50 and 100 unless said. Of "
        "`blue_green` 0 and 100: before the switch, and while it is watched",
    )
    strategy = serializers.ChoiceField(
        choices=list(STRATEGIES),
        required=False,
        default=BY_STEPS,
        help_text="`blue_green`: from 0 to 100 % at once, and back where the candidate does worse "
        "than the stable version did before",
    )
    shadow = ShadowSerializer(
        required=False,
        allow_null=True,
        help_text="copies of requests before the first step; none unless said",
    )
    min_requests = serializers.IntegerField(
        required=False, help_text="that each arm has answered in a step before the next; 200"
    )
    guardrails = GuardrailsInputSerializer(required=False)
    compare = CompareInputSerializer(
        required=False, allow_null=True, help_text="no input is asked, unless said"
    )


@extend_schema_serializer(component_name="RolloutInput")
class RolloutInputSerializer(PlanInputSerializer):
    deployment = serializers.CharField(max_length=32, help_text="the candidate")


@extend_schema_serializer(component_name="RolloutStage")
class StageSerializer(Fields):
    percent = serializers.IntegerField()
    hold_s = serializers.IntegerField()
    mirror = serializers.IntegerField(
        help_text="percent of the requests of which the candidate gets copies in this step"
    )
    status = serializers.ChoiceField(choices=StageStatus.choices)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    requests = serializers.IntegerField(
        help_text="or copies, that the candidate has answered in this step"
    )


@extend_schema_serializer(component_name="RolloutGuardrail")
class GuardrailSerializer(Fields):
    tolerance = serializers.FloatField()
    confidence = serializers.FloatField(allow_null=True)


@extend_schema_serializer(component_name="RolloutFigure")
class FigureSerializer(Fields):
    """One guardrail: what was counted since the rollout began."""

    measure = serializers.ChoiceField(choices=list(MEASURES))
    title = serializers.CharField()
    counts = serializers.ChoiceField(
        choices=["requests", "replicas", "inputs", "cases", "windows", "percent"],
        help_text="what `of` is a number of; 100 of `percent`, 0 where nobody has measured it",
    )
    bad = serializers.IntegerField(
        help_text="of the candidate's requests, its restarts, or golden cases that it fails"
    )
    of = serializers.IntegerField(help_text="requests, replicas or golden cases of the candidate")
    stable_bad = serializers.IntegerField()
    stable_of = serializers.IntegerField()
    confidence = serializers.FloatField(
        allow_null=True,
        help_text="0..1, that the candidate is worse; null where nothing is compared",
    )
    needed = serializers.FloatField(allow_null=True, help_text="the confidence that withdraws")
    tolerance = serializers.FloatField()
    broken = serializers.BooleanField()
    text = serializers.CharField(help_text="the same as a sentence")


@extend_schema_serializer(component_name="RolloutGolden")
class GoldenSerializer(Fields):
    """What the candidate answered to the golden cases of its models when it was last asked."""

    at = serializers.FloatField(help_text="Unix seconds")
    cases = serializers.IntegerField()
    wrong = serializers.ListField(child=serializers.CharField(), help_text="name, and difference")
    unanswered = serializers.ListField(
        child=serializers.CharField(), help_text="timed out, or reached no replica"
    )


@extend_schema_serializer(component_name="RolloutCompare")
class CompareSerializer(Fields):
    per_minute = serializers.IntegerField()
    by = serializers.ChoiceField(choices=list(WAYS))
    relative = serializers.FloatField()
    absolute = serializers.FloatField()
    sources = serializers.ListField(child=serializers.ChoiceField(choices=list(SOURCES)))
    captured_hours = serializers.IntegerField()


@extend_schema_serializer(component_name="RolloutSource")
class ComparedSourceSerializer(Fields):
    source = serializers.ChoiceField(choices=list(SOURCES))  # type: ignore[assignment]
    inputs = serializers.IntegerField(help_text="that were compared")
    differing = serializers.IntegerField(help_text="that the candidate answered otherwise")


@extend_schema_serializer(component_name="RolloutCompared")
class ComparedSerializer(Fields):
    """What both versions answered to the same inputs; the figure `answers` has the counts."""

    unanswered = serializers.IntegerField(help_text="inputs that nothing was learned from")
    example = serializers.CharField(
        allow_blank=True,
        help_text="how the candidate differed the last time, without values of clients",
    )
    sources = ComparedSourceSerializer(many=True)
    captured = serializers.CharField(
        allow_blank=True,
        help_text="how many captured requests were compared, how many are missing, and why",
    )
    differences = serializers.IntegerField(
        help_text="how many of those that differ are kept: `GET .../differences` has them"
    )


@extend_schema_serializer(component_name="RolloutLatency")
class LatencySerializer(Fields):
    quantile = serializers.FloatField()
    candidate_us = serializers.FloatField(allow_null=True)
    stable_us = serializers.FloatField(allow_null=True)


@extend_schema_serializer(component_name="Rollout")
class RolloutSerializer(Fields):
    id = serializers.CharField()
    endpoint = serializers.CharField()
    deployment = serializers.CharField(help_text="the candidate")
    state = serializers.ChoiceField(choices=RolloutState.choices)
    percent = serializers.IntegerField(help_text="of the traffic that the candidate has now")
    strategy = serializers.ChoiceField(choices=list(STRATEGIES))
    shadow = ShadowSerializer(allow_null=True)
    stages = StageSerializer(many=True)
    min_requests = serializers.IntegerField()
    guardrails = serializers.DictField(
        child=GuardrailSerializer(allow_null=True), help_text="by name; null: it is not looked at"
    )
    previous_traffic = serializers.DictField(
        child=serializers.IntegerField(), help_text="what a withdrawal goes back to"
    )
    reason = serializers.CharField(
        allow_blank=True, help_text="what it waits for, or why it ended, with the figures"
    )
    cause = serializers.CharField(allow_blank=True, help_text="the same, a stable word")
    missing_requests = serializers.IntegerField(help_text="that this step waits for")
    figures = FigureSerializer(many=True)
    latency = LatencySerializer(many=True)
    compare = CompareSerializer(allow_null=True)
    compared = ComparedSerializer(allow_null=True, help_text="null: no input has been asked")
    golden = GoldenSerializer(allow_null=True, help_text="null: nobody has asked")
    answers_checked = serializers.BooleanField(
        help_text="false: nothing looks at what the candidate answers, as there are no golden cases"
        " and `compare` is null; wrong answers are then promoted"
    )
    judged_at = serializers.DateTimeField(allow_null=True)
    paused_by = serializers.CharField(allow_blank=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    ended_by = serializers.CharField(
        allow_blank=True, help_text="`rollout` where it was by judgement"
    )
    finished_at = serializers.DateTimeField(allow_null=True)
