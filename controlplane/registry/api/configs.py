"""REST of model configurations: check a config.pbtxt against its model, write one from JSON."""

from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.errors import Invalid
from controlplane.core.requests import read_body
from controlplane.registry import inspector, selectors
from controlplane.registry.serializers.configs import (
    ConfigRenderInputSerializer,
    ConfigTextSerializer,
    ConfigValidateInputSerializer,
    ConfigValidationSerializer,
)
from controlplane.registry.services.configs import text_check


def _no_graph(model: str) -> dict[str, Any] | None:
    """The text alone: what only the graph tells stays unsaid."""
    del model
    return None


class ConfigValidateView(ProjectAPIView):
    @extend_schema(
        operation_id="config_validate",
        request=ConfigValidateInputSerializer,
        responses=ConfigValidationSerializer,
    )
    def post(self, request: Request) -> Response:
        """What is wrong with `text`, where, how to mend it; and the completed configuration."""
        asked = read_body(ConfigValidateInputSerializer, request)
        model, graph_of, around = asked["repo_model"], _no_graph, None
        if asked["upload_id"]:
            graph_of = partial(selectors.graph_for_upload, asked["upload_id"])
            around = selectors.neighbours_for_upload(asked["upload_id"], model)
        elif asked["model"]:
            version = selectors.version_get(asked["model"], asked["version"])
            graph_of = partial(selectors.graph_of_version, version)
            around = selectors.neighbours(version, model)
        answer = text_check(
            text=asked["text"],
            model=model,
            graph_of=graph_of,
            neighbours=around,
            others=asked["others"],
        )
        return Response(ConfigValidationSerializer(answer).data)


class ConfigRenderView(ProjectAPIView):
    @extend_schema(
        operation_id="config_render",
        request=ConfigRenderInputSerializer,
        responses=ConfigTextSerializer,
    )
    def post(self, request: Request) -> Response:
        """The config.pbtxt text of a configuration given as JSON."""
        values = read_body(ConfigRenderInputSerializer, request)
        answer = inspector.configs.ask("render", config=values["config"])
        if "text" not in answer:
            raise Invalid(
                str(answer.get("message") or "This configuration cannot be written as text."),
                field="config",
                extra={"problems": answer.get("problems", [])},
            )
        return Response(ConfigTextSerializer(answer).data)
