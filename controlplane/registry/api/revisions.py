"""REST of configuration revisions: read, edit, compare."""

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import may
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.errors import Invalid
from controlplane.core.etags import IF_MATCH, LastChange, if_match_check
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate_values
from controlplane.core.requests import read_body, read_query
from controlplane.registry import inspector, selectors
from controlplane.registry.api.contents import REVISION, revision_of
from controlplane.registry.diffs import config_diffs
from controlplane.registry.models import ConfigRevision, ModelVersion
from controlplane.registry.serializers.configs import (
    ConfigDiffSerializer,
    ConfigRevisionInputSerializer,
    ConfigRevisionListSerializer,
    ConfigRevisionSerializer,
    RepoModelConfigSerializer,
    configs_etag,
)
from controlplane.registry.serializers.models import RepoModelSerializer
from controlplane.registry.services import configs

RepoModelPageSerializer = page_of(RepoModelSerializer)


def revisions_check(request: Request, version: ModelVersion) -> None:
    """Raises PreconditionFailed, with the newest, when the caller has not seen all of them."""
    newest = max(version.config_revisions.all(), key=lambda row: row.number, default=None)
    shown = ConfigRevisionSerializer(newest).data if newest else None
    last = LastChange(newest.author, newest.created_at, revision_text(newest)) if newest else None
    if_match_check(request, configs_etag(version), shown, changed=lambda: last)


def revision_text(revision: ConfigRevision) -> str:
    said = f" ({revision.message})" if revision.message else ""
    return f"Configuration revision {revision.number}{said} was saved"


class ConfigRevisionsView(ProjectAPIView):
    @extend_schema(operation_id="config_revisions_list", responses=ConfigRevisionListSerializer)
    def get(self, request: Request, name: str, version: str) -> Response:
        """The newest first; the `ETag` stands for having seen these."""
        del request
        row = selectors.version_get(name, version)
        items = sorted(row.config_revisions.all(), key=lambda one: -one.number)
        body = ConfigRevisionListSerializer({"items": items}).data
        return Response(body, headers={"ETag": configs_etag(row)})

    @extend_schema(
        operation_id="config_revisions_create",
        parameters=[IF_MATCH],
        request=ConfigRevisionInputSerializer,
        responses={
            201: ConfigRevisionSerializer,
            400: OpenApiResponse(description="`ConfigInvalid` with `problems` and their fixes"),
            412: OpenApiResponse(
                description="`PreconditionFailed`: somebody has saved since: `current`"
            ),
        },
    )
    def post(self, request: Request, name: str, version: str) -> Response:
        """An edit over the version, which never changes; deploy it by its number."""
        values = read_body(ConfigRevisionInputSerializer, request)
        revision = configs.revision_create(
            name=name,
            version=version,
            actor=request.user.get_username(),
            may_run_code=may(request, Permission.CODE),
            unseen=lambda row: revisions_check(request, row),
            **values,
        )
        return Response(
            ConfigRevisionSerializer(revision).data,
            status=status.HTTP_201_CREATED,
            headers={"ETag": configs_etag(selectors.version_get(name, version))},
        )


class ConfigRevisionView(ProjectAPIView):
    @extend_schema(operation_id="config_revisions_get", responses=ConfigRevisionSerializer)
    def get(self, request: Request, name: str, version: str, number: int) -> Response:
        del request
        row = selectors.revision_get(selectors.version_get(name, version), number)
        return Response(ConfigRevisionSerializer(row).data)


class ConfigDiffView(ProjectAPIView):
    @extend_schema(
        operation_id="config_revisions_diff",
        parameters=[
            OpenApiParameter("against", int, description="default: the revision that was edited")
        ],
        responses=ConfigDiffSerializer,
    )
    def get(self, request: Request, name: str, version: str, number: int) -> Response:
        """What this revision changes; 0 stands for the files themselves."""
        row = selectors.version_get(name, version)
        revision = selectors.revision_get(row, number)
        text = request.query_params.get("against", str(revision.base))
        if not text.isdecimal() or len(text) > selectors.LONGEST_NUMBER:
            raise Invalid(f"{text!r} is no revision.", field="against")
        old = selectors.revision_get(row, int(text)) if int(text) else None
        diffs = config_diffs(
            selectors.config_texts(row, old),
            selectors.config_texts(row, revision),
            old_name=f"r{int(text)}",
            new_name=f"r{number}",
        )
        return Response(
            ConfigDiffSerializer({"old": int(text), "new": number, "diffs": diffs}).data
        )


class RepoModelsView(ProjectAPIView):
    @extend_schema(
        operation_id="repo_models_list",
        parameters=PAGE_PARAMETERS,
        responses=RepoModelPageSerializer,
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        """The models that a version holds, as clients call them, each with its tensors."""
        query = read_query(PageQuery, request)
        rows = selectors.version_get(name, version).repo_models.all()
        page = paginate_values(
            [row for row in rows if query["q"].lower() in row.name.lower()],
            limit=query["limit"],
            cursor=query["cursor"],
            key=lambda row: (row.name,),
        )
        return Response(RepoModelPageSerializer(page).data)


class RepoModelConfigView(ProjectAPIView):
    @extend_schema(
        operation_id="repo_models_config",
        parameters=[REVISION],
        responses=RepoModelConfigSerializer,
    )
    def get(self, request: Request, name: str, version: str, repo_model: str) -> Response:
        """The text as it was written, what is wrong with it, and what the runtime makes of it."""
        row = selectors.version_get(name, version)
        model = selectors.repo_model_get(row, repo_model)
        number = revision_of(request)
        revision = selectors.revision_get(row, number) if number else None
        edited = revision is not None and repo_model in revision.configs
        text = selectors.config_texts(row, revision)[repo_model]
        answer = inspector.configs.ask(
            "validate",
            text=text or model.config_effective,
            model=repo_model,
            graph=model.graph,
            neighbours=selectors.neighbours(row, repo_model),
        )
        effective = answer["effective"] if edited else model.config_effective
        source = "revision" if edited else ("file" if model.config_text else "none")
        body = {
            "model": repo_model,
            "text": text,
            "source": source,
            "revision": number,
            "effective": effective,
            "problems": answer["problems"],
            "config": answer["config"],
        }
        return Response(RepoModelConfigSerializer(body).data)
