"""REST of model configurations: check a config.pbtxt against its model, write one from JSON."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.core.errors import Invalid
from controlplane.registry import inspector, selectors
from controlplane.registry.serializers import (
    ConfigRenderInputSerializer,
    ConfigTextSerializer,
    ConfigValidateInputSerializer,
    ConfigValidationSerializer,
)


class ConfigValidateView(APIView):
    @extend_schema(
        operation_id="config_validate",
        request=ConfigValidateInputSerializer,
        responses=ConfigValidationSerializer,
    )
    def post(self, request: Request) -> Response:
        """What is wrong with `text`, where, how to mend it; and the completed configuration."""
        form = ConfigValidateInputSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        if asked["upload_id"]:
            graph = selectors.graph_for_upload(asked["upload_id"], asked["repo_model"])
            around = selectors.neighbours_for_upload(asked["upload_id"], asked["repo_model"])
        elif asked["model"]:
            version = selectors.version_get(asked["model"], asked["version"])
            graph = selectors.repo_model_get(version, asked["repo_model"]).graph
            around = selectors.neighbours(version, asked["repo_model"])
        else:
            graph, around = None, None  # the text alone: what only the graph tells stays unsaid
        answer = inspector.configs.ask(
            "validate",
            text=asked["text"],
            model=asked["repo_model"],
            graph=graph,
            neighbours=around,
        )
        return Response(ConfigValidationSerializer(answer).data)


class ConfigRenderView(APIView):
    @extend_schema(
        operation_id="config_render",
        request=ConfigRenderInputSerializer,
        responses=ConfigTextSerializer,
    )
    def post(self, request: Request) -> Response:
        """The config.pbtxt text of a configuration given as JSON."""
        form = ConfigRenderInputSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        answer = inspector.configs.ask("render", config=form.validated_data["config"])
        if "text" not in answer:
            raise Invalid(
                str(answer.get("message") or "This configuration cannot be written as text."),
                field="config",
                extra={"problems": answer.get("problems", [])},
            )
        return Response(ConfigTextSerializer(answer).data)
