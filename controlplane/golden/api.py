"""REST of golden cases: asked of a deployment, and given its answers; and what begins a rollout."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.etags import IF_MATCH
from controlplane.core.requests import read_body
from controlplane.golden.asking import Outcome, Status
from controlplane.golden.captured import captured_wanted, rollout_differences
from controlplane.golden.cases import MOST_CASES, Run, cases_accept, cases_run
from controlplane.golden.rollouts import rollout_answers
from controlplane.operations.api import rollouts
from controlplane.operations.api.reading import SUPERSEDE, endpoint_change
from controlplane.operations.rollout_serializers import RolloutInputSerializer, RolloutSerializer
from controlplane.operations.services import rollout_start
from controlplane.rollouts import SOURCES

Fields = serializers.Serializer[Any]
LONGEST_ID = 32


class TestCasesRunInputSerializer(Fields):
    deployment = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=32,
        help_text="the one with the most traffic, unless said",
    )
    cases = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_ID),
        required=False,
        default=list,
        max_length=MOST_CASES,
        help_text="ids; all golden cases of the models that it serves, unless said",
    )


class TestCasesAcceptInputSerializer(TestCasesRunInputSerializer):
    cases = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_ID),
        allow_empty=False,
        max_length=MOST_CASES,
        help_text="ids",
    )


class TestDifferenceSerializer(Fields):
    output = serializers.CharField()
    text = serializers.CharField(help_text="how it differs, a part of a sentence")
    count = serializers.IntegerField(
        help_text="how many values are wrong; 0: it is not such a tensor at all"
    )


class TestOutcomeSerializer(Fields):
    id = serializers.CharField()
    case = serializers.CharField(help_text="its name")
    model = serializers.CharField()
    status = serializers.ChoiceField(
        choices=[one.value for one in Status],
        help_text="`refused`: the deployment answered with an error; `unanswered`: nothing is "
        "known, as the call timed out or reached no replica",
    )
    seconds = serializers.FloatField()
    text = serializers.CharField(allow_blank=True, help_text="why it has not passed")
    differences = TestDifferenceSerializer(many=True)


class TestRunSerializer(Fields):
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    passed = serializers.IntegerField()
    wrong = serializers.IntegerField(help_text="`differs` and `refused`")
    unanswered = serializers.IntegerField()
    cases = TestOutcomeSerializer(many=True)


def shown(endpoint: str, run: Run) -> Response:
    def count(*kinds: Status) -> int:
        return sum(one.status in kinds for one in run.outcomes)

    body = {
        "endpoint": endpoint,
        "deployment": run.deployment,
        "passed": count(Status.PASSED),
        "wrong": count(Status.DIFFERS, Status.REFUSED),
        "unanswered": count(Status.UNANSWERED),
        "cases": [_outcome(one) for one in run.outcomes],
    }
    return Response(TestRunSerializer(body).data)


def _outcome(one: Outcome) -> dict[str, Any]:
    names = ("id", "case", "model", "status", "text", "differences")
    return {**{name: getattr(one, name) for name in names}, "seconds": round(one.seconds, 4)}


class TestCasesRunView(ProjectAPIView):
    write_permission = Permission.INVOKE  # who may call may compare

    @extend_schema(
        operation_id="test_cases_run",
        request=TestCasesRunInputSerializer,
        responses=TestRunSerializer,
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """Ask a deployment golden cases, and compare what it answers with what they expect.

        One after the other, through the gateway, for 30 s at most; a case that no time is left for
        is `unanswered`. Nothing is changed.
        """
        asked = read_body(TestCasesRunInputSerializer, request)
        return shown(endpoint, cases_run(endpoint=endpoint, **asked))


class TestCasesAcceptView(ProjectAPIView):
    write_permission = Permission.INVOKE  # who may call may keep calls

    @extend_schema(
        operation_id="test_cases_accept",
        request=TestCasesAcceptInputSerializer,
        responses=TestRunSerializer,
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """Let cases expect what a deployment answers now, which makes them golden.

        The outcomes say what each of them answered beside what it expected before. One that was
        refused or not answered stays as it is.
        """
        asked = read_body(TestCasesAcceptInputSerializer, request)
        run = cases_accept(endpoint=endpoint, actor=request.user.get_username(), **asked)
        return shown(endpoint, run)


class RolloutsView(rollouts.RolloutsView):
    @extend_schema(
        operation_id="rollouts_start",
        parameters=[IF_MATCH, SUPERSEDE],
        request=RolloutInputSerializer,
        responses={
            201: RolloutSerializer,
            409: OpenApiResponse(
                description="`RolloutInProgress` with the `rollout`, `OperationInProgress` with "
                "the `operation` that is about to move traffic, `GoldenCasesFailed`: the candidate "
                "answers them otherwise than expected, `NothingCaptured`: captured requests alone "
                "are to be asked, and the stable deployment captures none"
            ),
        },
    )
    def post(self, request: Request, endpoint: str) -> Response:
        """Move the traffic to a deployment step by step, as long as it does no worse.

        It is asked the golden cases of its models first, and then gets the share of the first step.
        While guardrails hold it gets more; where one is broken the traffic goes back to what it
        was. While it is under way nothing else moves the traffic: such changes are refused, or end
        it with `?supersede=true`.
        """
        values = read_body(RolloutInputSerializer, request)
        # why before: an answer may take seconds, and nothing may be held meanwhile
        captured_wanted(endpoint=endpoint, **values)
        golden = rollout_answers(endpoint=endpoint, now=timezone.now(), **values)
        with endpoint_change(request, endpoint):
            row = rollout_start(
                endpoint=endpoint,
                actor=actor(request),
                now=timezone.now(),
                golden=golden,
                **values,
            )
        return rollouts.shown(row, status.HTTP_201_CREATED)


class RolloutDifferenceSerializer(Fields):
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a wire field
        choices=list(SOURCES), help_text="where the input came from"
    )
    model = serializers.CharField()
    at = serializers.DateTimeField(help_text="when it was asked")
    text = serializers.CharField(help_text="how the answers differ, with values")
    file = serializers.CharField(
        allow_blank=True, help_text="of a captured request: the id of its file, else empty"
    )
    line = serializers.IntegerField(help_text="of it in that file, from 1 on")
    kept = serializers.BooleanField(help_text="whether the file is still there")
    deployment = serializers.CharField(
        allow_blank=True, help_text="whose file it is; empty where there is none"
    )


class RolloutDifferencesSerializer(Fields):
    items = RolloutDifferenceSerializer(many=True)


class RolloutDifferencesView(ProjectAPIView):
    read_permission = Permission.DEPLOY  # as captured data: answers to clients are in it

    @extend_schema(operation_id="rollouts_differences", responses=RolloutDifferencesSerializer)
    def get(self, request: Request, endpoint: str, rollout_id: str) -> Response:
        """The last ten inputs that the candidate answered otherwise, the newest first. Deployers
        only: the differences have values of answers to clients."""
        del request
        items = rollout_differences(endpoint=endpoint, rollout_id=rollout_id)
        return Response(RolloutDifferencesSerializer({"items": items}).data)
