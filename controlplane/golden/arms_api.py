"""REST of what the arms of an experiment answer to the same inputs."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from answers import Tolerance
from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.numbers import NumberField
from controlplane.core.requests import read_body
from controlplane.golden.agreement import ArmAgreement, Differing
from controlplane.golden.arms import GOLDEN, MOST_INPUTS, Answers, Lack, arms_ask
from controlplane.rollouts import CAPTURED, LONGEST_CAPTURED_HOURS

Fields = serializers.Serializer[Any]
DEFAULT_INPUTS, DEFAULT_HOURS = 50, 24
KINDS = [GOLDEN, CAPTURED]


class ExperimentAnswersInputSerializer(Fields):
    baseline = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="the arm that the others are compared with; without it the largest share",
    )
    inputs = serializers.IntegerField(
        required=False,
        default=DEFAULT_INPUTS,
        min_value=0,
        max_value=MOST_INPUTS,
        help_text="so many of the newest captured requests of each arm",
    )
    hours = serializers.IntegerField(
        required=False,
        default=DEFAULT_HOURS,
        min_value=1,
        max_value=LONGEST_CAPTURED_HOURS,
        help_text="how long ago these may have been captured",
    )
    relative = NumberField(
        required=False,
        default=1e-3,
        min_value=0,
        max_value=1,
        help_text="a floating-point value may differ by `absolute + relative * |baseline's|`",
    )
    absolute = NumberField(required=False, default=1e-5, min_value=0)


class ComparedSourceSerializer(Fields):
    source = serializers.ChoiceField(choices=KINDS)  # type: ignore[assignment]  # a wire field
    deployment = serializers.CharField(
        allow_blank=True, help_text="whose captured requests; empty of golden cases"
    )
    found = serializers.IntegerField()
    asked = serializers.IntegerField(help_text="fewer than `found` where the time ended")


class ComparedMissingSerializer(Fields):
    code = serializers.ChoiceField(choices=[one.value for one in Lack])
    deployment = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField(help_text="of requests or models; 0 where none are meant")
    text = serializers.CharField(help_text="a sentence")


class ComparedOutputSerializer(Fields):
    model = serializers.CharField()
    output = serializers.CharField()
    compared = serializers.IntegerField(help_text="answers")
    agreed = serializers.IntegerField(help_text="of them")
    schema = serializers.IntegerField(help_text="of them with another datatype or shape, or none")
    schema_text = serializers.CharField(allow_blank=True, help_text="how the last one was another")
    largest = serializers.FloatField(
        allow_null=True, help_text="absolute difference; null: no numbers were compared"
    )
    rows = serializers.IntegerField(help_text="with scores of classes; 0: it is none")
    best = serializers.IntegerField(help_text="of `rows` with the same best class")


class ComparedExpectedSerializer(Fields):
    cases = serializers.IntegerField()
    wrong = serializers.IntegerField(help_text="answered otherwise than the case expects")
    unanswered = serializers.IntegerField()


class ComparedArmSerializer(Fields):
    """The baseline stands beside itself: it was asked each input twice."""

    deployment = serializers.CharField()
    compared = serializers.IntegerField(help_text="inputs")
    agreed = serializers.IntegerField(help_text="of them, in all outputs")
    refused = serializers.IntegerField(
        help_text="inputs answered with an error; of the baseline those are compared with nothing"
    )
    unanswered = serializers.IntegerField(help_text="timed out, or reached no replica")
    schema = serializers.IntegerField(help_text="of `compared`, with another kind of output")
    golden = ComparedExpectedSerializer()
    outputs = ComparedOutputSerializer(many=True)


class ComparedValuesSerializer(Fields):
    output = serializers.CharField()
    text = serializers.CharField(help_text="how it differs, a part of a sentence")
    at = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="where the values below stand: all of a small tensor, or where it differs most",
    )
    baseline = serializers.ListField(child=serializers.CharField(), help_text="its values there")
    own = serializers.ListField(child=serializers.CharField(), help_text="this arm's")


class ComparedDifferingSerializer(Fields):
    deployment = serializers.CharField(help_text="the arm that answered otherwise")
    source = serializers.ChoiceField(choices=KINDS)  # type: ignore[assignment]  # a wire field
    model = serializers.CharField()
    case = serializers.CharField(allow_blank=True, help_text="name of the golden case, or empty")
    captured_by = serializers.CharField(allow_blank=True)
    captured_at = serializers.CharField(allow_blank=True, help_text="ISO 8601, as captured")
    file = serializers.CharField(allow_blank=True, help_text="id of the captured file")
    line = serializers.IntegerField(help_text="of it in that file, from 1 on")
    text = serializers.CharField(help_text="how the answers differ")
    inputs = serializers.ListField(
        child=serializers.CharField(), help_text="name, datatype, shape and the first values"
    )
    outputs = ComparedValuesSerializer(many=True, help_text="those that differ; none if refused")


class ExperimentAnswersSerializer(Fields):
    endpoint = serializers.CharField()
    baseline = serializers.CharField()
    seconds = serializers.FloatField()
    sources = ComparedSourceSerializer(many=True)
    missing = ComparedMissingSerializer(many=True)
    arms = ComparedArmSerializer(many=True, help_text="the baseline first")
    differing = ComparedDifferingSerializer(
        many=True, help_text="ten of each arm at most, what differs most first"
    )


class _UnkeptResponse(Response):
    is_kept = False  # see ``IdempotencyMiddleware``


class ExperimentAnswersView(ProjectAPIView):
    write_permission = Permission.DEPLOY  # as captured data: values of clients are in it

    @extend_schema(
        operation_id="endpoints_experiment_answers",
        request=ExperimentAnswersInputSerializer,
        responses={
            200: ExperimentAnswersSerializer,
            404: OpenApiResponse(description="`EndpointNotFound`, `DeploymentNotFound`"),
            409: OpenApiResponse(description="`NothingToCompare`: fewer than two arms run"),
        },
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """Ask all arms the same inputs, and compare their answers with the baseline's: the golden
        cases of their models, and the newest captured requests of each arm.

        One after the other, through the gateway, for 30 s at most. Nothing is kept, and gateways
        count it for no arm. Deployers only; that captured requests were asked again is an event.
        """
        asked = read_body(ExperimentAnswersInputSerializer, request)
        tolerance = Tolerance(asked.pop("relative"), asked.pop("absolute"))
        found = arms_ask(
            endpoint=endpoint,
            tolerance=tolerance,
            actor=actor(request),
            now=timezone.now(),
            **asked,
        )
        return _UnkeptResponse(ExperimentAnswersSerializer(_shown(found)).data)


def _shown(found: Answers) -> dict[str, Any]:
    return {
        "endpoint": found.endpoint,
        "baseline": found.baseline,
        "seconds": round(found.seconds, 3),
        "sources": found.sources,
        "missing": found.missing,
        "arms": [_arm(one) for one in found.arms],
        "differing": [_differing(one) for arm in found.arms for one in arm.differing],
    }


def _arm(one: ArmAgreement) -> dict[str, Any]:
    names = ("deployment", "compared", "agreed", "refused", "unanswered", "schema", "golden")
    outputs = [one.outputs[key] for key in sorted(one.outputs)]
    return {**{name: getattr(one, name) for name in names}, "outputs": outputs}


def _differing(one: Differing) -> dict[str, Any]:
    asked = one.asked
    return {
        "deployment": one.deployment,
        "source": asked.kind,
        "model": one.model,
        "case": asked.source if asked.kind == GOLDEN else "",
        "captured_by": asked.source if asked.kind == CAPTURED else "",
        "captured_at": asked.at,
        "file": asked.file,
        "line": asked.line,
        "text": one.text,
        "inputs": one.inputs,
        "outputs": one.outputs,
    }
