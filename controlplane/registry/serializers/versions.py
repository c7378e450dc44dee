"""How requests name a version of a model."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


@extend_schema_field({"type": ["integer", "string"]})
class VersionField(serializers.CharField):
    """A number, as number or text, or an alias; the latest version unless said."""

    def __init__(self, **options: Any) -> None:
        told = "a number, or an alias: @latest, @champion"
        super().__init__(**{"required": False, "default": "latest", "help_text": told, **options})
