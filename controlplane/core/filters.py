"""Filters that lists share: by tags, and by one of several words."""

from collections.abc import Iterable
from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

TAG: Final = "tag."
TAG_PARAMETER: Final = OpenApiParameter(
    "tag.{key}", str, description="`tag.team=vision`; may come several times"
)
PROJECT_PARAMETER: Final = OpenApiParameter("project", str, description="only those in it")


def tags_of(request: Request) -> dict[str, str]:
    """What `?tag.team=vision` asks for."""
    return {
        key.removeprefix(TAG): str(value)
        for key, value in request.query_params.items()
        if key.startswith(TAG) and key != TAG
    }


class ChoicesField(serializers.CharField):
    """`?state=Failed,Canceled`: one or several of some words, read as a list."""

    default_error_messages = {"invalid_choice": '"{word}" is none of {known}.'}

    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        self.known = list(choices)
        super().__init__(required=False, default="", allow_blank=True, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        values = [word.strip() for word in super().to_internal_value(data).split(",")]
        for word in values:
            if word and word not in self.known:
                self.fail("invalid_choice", word=word, known=", ".join(self.known))
        return [word for word in values if word]
