"""REST of the test console: saved cases. Calls themselves travel over its socket."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.console import cases
from controlplane.console.models import SavedCase
from controlplane.core.filters import PROJECT_PARAMETER
from controlplane.core.numbers import NumberField
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_only, read_query

Fields = serializers.Serializer[Any]


class TestInputSerializer(Fields):
    """A tensor. `data` is a flat list, or `{"b64": …}` with its raw little-endian bytes."""

    name = serializers.CharField()
    datatype = serializers.CharField()
    shape = serializers.ListField(child=serializers.IntegerField(min_value=0))
    data = serializers.JSONField()  # type: ignore[assignment]  # a wire field


class TestOptionsSerializer(Fields):
    protocol = serializers.ChoiceField(choices=cases.PROTOCOLS, required=False)
    version = serializers.CharField(required=False, allow_blank=True, max_length=20)
    parameters = serializers.DictField(
        required=False, help_text="sequence_id, sequence_start, sequence_end, priority, timeout"
    )


class TestToleranceSerializer(Fields):
    """An output may differ by `absolute + relative * |expected|`; what is no floating-point number
    may not differ."""

    relative = NumberField(required=False, default=1e-4, min_value=0, max_value=1)
    absolute = NumberField(required=False, default=1e-6, min_value=0)


class TestTensorSerializer(Fields):
    name = serializers.CharField()
    datatype = serializers.CharField()
    shape = serializers.ListField(child=serializers.IntegerField())


class TestCaseSummarySerializer(Fields):
    id = serializers.CharField()
    project = serializers.CharField(source="project_id")
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    model = serializers.CharField(help_text="what clients call it")
    endpoint = serializers.CharField(allow_blank=True, help_text="where it was saved")
    tensors = serializers.SerializerMethodField()
    golden = serializers.SerializerMethodField(help_text="it says what should be answered")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    @extend_schema_field(TestTensorSerializer(many=True))
    def get_tensors(self, case: SavedCase) -> list[dict[str, Any]]:
        return [
            {key: tensor[key] for key in ("name", "datatype", "shape")} for tensor in case.inputs
        ]

    def get_golden(self, case: SavedCase) -> bool:
        return bool(case.expected)


class TestCaseSerializer(TestCaseSummarySerializer):
    inputs = TestInputSerializer(many=True)
    options = TestOptionsSerializer()
    expected = TestInputSerializer(many=True, help_text="outputs; empty: nobody has said")
    tolerance = TestToleranceSerializer()


class TestCaseInputSerializer(Fields):
    name = serializers.CharField(max_length=100)
    description = serializers.CharField(required=False, default="", allow_blank=True)
    model = serializers.CharField(max_length=255)
    endpoint = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    inputs = TestInputSerializer(many=True)
    options = TestOptionsSerializer(required=False, default=dict)
    expected = TestInputSerializer(many=True, required=False, default=list)
    tolerance = TestToleranceSerializer(required=False, default=dict)


TestCasePageSerializer = page_of(TestCaseSummarySerializer)
SHOWN_ONLY = read_only(TestCaseSerializer, TestCaseInputSerializer)


class TestCasesQuery(PageQuery):
    model = serializers.CharField(required=False, default="", allow_blank=True)
    endpoint = serializers.CharField(required=False, default="", allow_blank=True)
    project = serializers.CharField(required=False, default="", allow_blank=True)


class TestCasesView(ProjectAPIView):
    write_permission = Permission.INVOKE  # who may call may keep calls

    @extend_schema(
        operation_id="test_cases_list",
        parameters=[
            *PAGE_PARAMETERS,
            OpenApiParameter("model", str, description="what clients call it"),
            OpenApiParameter("endpoint", str, description="where it was saved"),
            PROJECT_PARAMETER,
        ],
        responses=TestCasePageSerializer,
    )
    def get(self, request: Request) -> Response:
        """Without their data, the latest first."""
        asked = read_query(TestCasesQuery, request)
        page = paginate(
            cases.case_list(
                q=asked["q"],
                model=asked["model"],
                endpoint=asked["endpoint"],
                project=asked["project"],
            ),
            limit=asked["limit"],
            cursor=asked["cursor"],
            order=["-updated_at", "id"],
        )
        return Response(TestCasePageSerializer(page).data)

    @extend_schema(
        operation_id="test_cases_create",
        request=TestCaseInputSerializer,
        responses={
            201: TestCaseSerializer,
            409: OpenApiResponse(description="`NameTaken` with the `id` of the other"),
            413: OpenApiResponse(description="more than 8 MiB of inputs, or of expected outputs"),
        },
    )
    def post(self, request: Request) -> Response:
        """Keep a call under a name. `/test?endpoint=…&preset=<id>` opens it in the console."""
        case = cases.case_save(
            **read_body(TestCaseInputSerializer, request), actor=request.user.get_username()
        )
        return Response(TestCaseSerializer(case).data, status=status.HTTP_201_CREATED)


class TestCaseView(ProjectAPIView):
    write_permission = Permission.INVOKE

    @extend_schema(operation_id="test_cases_get", responses=TestCaseSerializer)
    def get(self, request: Request, case_id: str) -> Response:
        del request
        return Response(TestCaseSerializer(cases.case_get(case_id)).data)

    @extend_schema(
        operation_id="test_cases_replace",
        request=TestCaseInputSerializer,
        responses=TestCaseSerializer,
    )
    def put(self, request: Request, case_id: str) -> Response:
        case = cases.case_save(
            **read_body(TestCaseInputSerializer, request, ignored=SHOWN_ONLY),
            actor=request.user.get_username(),
            replace=cases.case_get(case_id),
        )
        return Response(TestCaseSerializer(case).data)

    @extend_schema(operation_id="test_cases_delete", request=None, responses={204: None})
    def delete(self, request: Request, case_id: str) -> Response:
        cases.case_delete(case_id=case_id, actor=request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)
