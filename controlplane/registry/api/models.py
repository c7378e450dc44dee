"""REST of models and their versions."""

from operator import itemgetter
from typing import Any

from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import may
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.accounts.projects import project_stays
from controlplane.core.etags import IF_MATCH, if_match
from controlplane.core.filters import PROJECT_PARAMETER, TAG_PARAMETER, tags_of
from controlplane.core.pagination import (
    PAGE_PARAMETERS,
    Page,
    PageQuery,
    page_of,
    paginate,
)
from controlplane.core.requests import flag, read_body, read_only, read_query
from controlplane.registry import selectors
from controlplane.registry.models import Model, ModelVersion
from controlplane.registry.serializers.models import (
    ApproveSerializer,
    ModelInputSerializer,
    ModelPatchSerializer,
    ModelSerializer,
    ModelVersionInputSerializer,
    ModelVersionPatchSerializer,
    ModelVersionSerializer,
    ModelVersionSummarySerializer,
)
from controlplane.registry.services import approvals, registering, versions

ModelItemsSerializer = page_of(ModelSerializer)
ModelVersionPageSerializer = extend_schema_serializer(component_name="ModelVersionPage")(
    page_of(ModelVersionSummarySerializer)
)
ARCHIVED = ["active", "archived", "all"]
ORDERS = ["name", "-name", "updated_at", "-updated_at", "latest_version", "-latest_version"]


@extend_schema_serializer(component_name="ModelPage")
class ModelPageSerializer(ModelItemsSerializer):  # type: ignore[misc, valid-type]
    total = serializers.IntegerField(help_text="models that match, on all pages")


MODEL_SHOWN_ONLY = read_only(ModelSerializer, ModelPatchSerializer) - {"name"}
VERSION_SHOWN_ONLY = read_only(ModelVersionSerializer, ModelVersionPatchSerializer) - {"model"}


class ModelsQuery(PageQuery):
    archived = serializers.ChoiceField(choices=ARCHIVED, default="active")
    type = serializers.CharField(required=False, default="", allow_blank=True)
    backend = serializers.CharField(required=False, default="", allow_blank=True)
    deployed = serializers.BooleanField(required=False, default=None, allow_null=True)
    order_by = serializers.ChoiceField(choices=ORDERS, default="-updated_at")
    project = serializers.CharField(required=False, default="", allow_blank=True)


seen_tag = itemgetter("etag")


def version_answer(row: ModelVersion) -> Response:
    body = ModelVersionSerializer(row).data
    return Response(body, headers={"ETag": body["etag"]})


REGISTERED = {
    200: OpenApiResponse(ModelVersionSerializer, description="the same content as before"),
    201: ModelVersionSerializer,
    400: OpenApiResponse(description="`NameInvalid`, `ConfigInvalid` with `problems`"),
    403: OpenApiResponse(description="`CodeNotAllowed`: no models with code here"),
    409: OpenApiResponse(
        description="`UploadNotReady`, `ModelArchived`, `ModelVersionImmutable`, `NameTaken`, "
        "`TensorsDiffer`, `ProjectQuotaExceeded`"
    ),
}


def registered(request: Request, values: dict[str, Any]) -> Response:
    """201 with the new version, 200 with the one that has the same content."""
    version, created = registering.model_version_register(
        **values,
        actor=request.user.get_username(),
        may_run_code=may(request, Permission.CODE),
    )
    answer = version_answer(version)
    answer.status_code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
    return answer


class ModelsView(ProjectAPIView):
    @extend_schema(
        operation_id="models_list",
        parameters=[
            *PAGE_PARAMETERS,
            OpenApiParameter("archived", str, enum=ARCHIVED),
            OpenApiParameter("type", str, description="of the newest version"),
            OpenApiParameter("backend", str, description="of the newest version, or `ensemble`"),
            OpenApiParameter("deployed", bool, description="any version runs on an endpoint"),
            OpenApiParameter("order_by", str, enum=ORDERS, description="default -updated_at"),
            TAG_PARAMETER,
            PROJECT_PARAMETER,
        ],
        responses=ModelPageSerializer,
    )
    def get(self, request: Request) -> Response:
        query = read_query(ModelsQuery, request)
        rows = selectors.model_list(
            q=query["q"],
            archived=query["archived"],
            type=query["type"],
            tags=tags_of(request),
            backend=query["backend"],
            deployed=query["deployed"],
            project=query["project"],
        )
        page = paginate(
            rows, limit=query["limit"], cursor=query["cursor"], order=[query["order_by"], "id"]
        )
        body = {
            "items": selectors.models_complete(page.items),
            "next_cursor": page.next_cursor,
            "total": rows.count(),
        }
        return Response(ModelPageSerializer(body).data)

    @extend_schema(
        operation_id="models_register",
        request=ModelInputSerializer,
        responses=REGISTERED,
    )
    def post(self, request: Request) -> Response:
        """Register a ready upload as a new model, or as the next version of one."""
        return registered(request, read_body(ModelInputSerializer, request))


class ModelView(ProjectAPIView):
    @extend_schema(operation_id="models_get", responses=ModelSerializer)
    def get(self, request: Request, name: str) -> Response:
        del request
        body = ModelSerializer(selectors.model_get(name)).data
        return Response(body, headers={"ETag": body["etag"]})

    @extend_schema(
        operation_id="models_update",
        parameters=[IF_MATCH],
        request=ModelPatchSerializer,
        responses=ModelSerializer,
    )
    def patch(self, request: Request, name: str) -> Response:
        """Its description and tags."""
        values = read_body(
            ModelPatchSerializer, request, ignored=MODEL_SHOWN_ONLY, fixed={"name": name}
        )
        project_stays(request.data, lambda: selectors.model_get(name).project_name)
        with if_match(
            request,
            Model.objects.filter(name=name),
            lambda: ModelSerializer(selectors.model_get(name)).data,
            seen_tag,
        ):
            model = versions.model_update(name=name, actor=request.user.get_username(), **values)
        body = ModelSerializer(model).data
        return Response(body, headers={"ETag": body["etag"]})

    @extend_schema(
        operation_id="models_delete",
        request=None,
        responses={204: None, 409: OpenApiResponse(description="`InUse` with `deployments`")},
    )
    def delete(self, request: Request, name: str) -> Response:
        versions.model_delete(name=name, actor=request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)


class ModelArchiveView(ProjectAPIView):
    @extend_schema(operation_id="models_archive", request=None, responses=ModelSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Hide it from lists and new deployments; what runs keeps running."""
        model = versions.model_archive(name=name, actor=request.user.get_username())
        return Response(ModelSerializer(model).data)


class ModelRestoreView(ProjectAPIView):
    @extend_schema(operation_id="models_restore", request=None, responses=ModelSerializer)
    def post(self, request: Request, name: str) -> Response:
        model = versions.model_restore(name=name, actor=request.user.get_username())
        return Response(ModelSerializer(model).data)


class ModelVersionsView(ProjectAPIView):
    @extend_schema(
        operation_id="model_versions_list",
        parameters=PAGE_PARAMETERS[:2],
        responses=ModelVersionPageSerializer,
    )
    def get(self, request: Request, name: str) -> Response:
        """The newest first."""
        query = read_query(PageQuery, request)
        selectors.model_get(name)
        page = paginate(
            selectors.version_list(name),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["-version"],
        )
        found = Page(selectors.versions_complete(page.items), page.next_cursor)
        return Response(ModelVersionPageSerializer(found).data)

    @extend_schema(
        operation_id="model_versions_register",
        request=ModelVersionInputSerializer,
        responses=REGISTERED,
    )
    def post(self, request: Request, name: str) -> Response:
        """Register a ready upload as the next version of a model that exists."""
        values = read_body(ModelVersionInputSerializer, request, fixed={"name": name})
        selectors.model_get(name)
        return registered(request, {**values, "name": name})


class ModelVersionView(ProjectAPIView):
    @extend_schema(operation_id="model_versions_get", responses=ModelVersionSerializer)
    def get(self, request: Request, name: str, version: str) -> Response:
        """`version` is a number, or an alias such as `@latest` or `@champion`."""
        del request
        return version_answer(selectors.version_get(name, version))

    @extend_schema(
        operation_id="model_versions_update",
        parameters=[IF_MATCH],
        request=ModelVersionPatchSerializer,
        responses=ModelVersionSerializer,
    )
    def patch(self, request: Request, name: str, version: str) -> Response:
        """Its words; the content of a version never changes."""
        values = read_body(
            ModelVersionPatchSerializer, request, ignored=VERSION_SHOWN_ONLY, fixed={"model": name}
        )
        number = selectors.version_get(name, version).version  # of an alias, what it means now
        with if_match(
            request,
            ModelVersion.objects.filter(model__name=name, version=number),
            lambda: ModelVersionSummarySerializer(selectors.version_get(name, number)).data,
            seen_tag,
        ):
            row = versions.version_update(
                name=name, version=str(number), actor=request.user.get_username(), **values
            )
        return version_answer(row)

    @extend_schema(
        operation_id="model_versions_delete",
        request=None,
        parameters=[OpenApiParameter("force", bool, description="even if an alias names it")],
        responses={204: None, 409: OpenApiResponse(description="`InUse`")},
    )
    def delete(self, request: Request, name: str, version: str) -> Response:
        """For good; the number is never given again."""
        versions.version_delete(
            name=name,
            version=version,
            force=flag(request, "force"),
            actor=request.user.get_username(),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class ModelVersionArchiveView(ProjectAPIView):
    @extend_schema(
        operation_id="model_versions_archive", request=None, responses=ModelVersionSerializer
    )
    def post(self, request: Request, name: str, version: str) -> Response:
        """Hide it from `latest` and new deployments; what runs keeps running."""
        row = versions.version_archive(
            name=name, version=version, actor=request.user.get_username()
        )
        return Response(ModelVersionSerializer(row).data)


class ModelVersionRestoreView(ProjectAPIView):
    @extend_schema(
        operation_id="model_versions_restore", request=None, responses=ModelVersionSerializer
    )
    def post(self, request: Request, name: str, version: str) -> Response:
        row = versions.version_restore(
            name=name, version=version, actor=request.user.get_username()
        )
        return Response(ModelVersionSerializer(row).data)


class ModelVersionApproveView(ProjectAPIView):
    write_permission = Permission.CODE

    @extend_schema(
        operation_id="model_versions_approve",
        request=ApproveSerializer,
        responses={
            200: ModelVersionSerializer,
            403: OpenApiResponse(description="`Forbidden`; `CodeNotAllowed`: no code here at all"),
        },
    )
    def post(self, request: Request, name: str, version: str) -> Response:
        """Let the code in it run: these files, under whatever name they come again."""
        values = read_body(ApproveSerializer, request)
        row = approvals.version_approve(
            name=name, version=version, actor=request.user.get_username(), **values
        )
        return Response(ModelVersionSerializer(row).data)

    @extend_schema(
        operation_id="model_versions_disapprove",
        request=None,
        responses={200: ModelVersionSerializer},
    )
    def delete(self, request: Request, name: str, version: str) -> Response:
        """Take the approval back: these files start nowhere any more. What runs them runs on."""
        row = approvals.version_disapprove(
            name=name, version=version, actor=request.user.get_username()
        )
        return Response(ModelVersionSerializer(row).data)
