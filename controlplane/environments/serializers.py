"""Shapes of environments on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.accounts.serializers import ProjectField
from controlplane.core.pagination import PageQuery
from controlplane.core.requests import Change

ARCHIVED = ["active", "archived", "all"]
LONGEST_LIST = 2**18  # characters
Fields = serializers.Serializer[Any]


class EnvironmentsQuery(PageQuery):
    archived = serializers.ChoiceField(choices=ARCHIVED, default="active")
    project = serializers.CharField(required=False, default="", allow_blank=True)


class EnvironmentSerializer(Fields):
    name = serializers.CharField()
    project = serializers.CharField(source="project_id")
    version = serializers.IntegerField()
    description = serializers.CharField(allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True))
    requirements = serializers.CharField(
        allow_blank=True, help_text="what nodes give to pip, a requirement a line"
    )
    conda_file = serializers.DictField(
        allow_null=True, help_text="what `requirements` was made from"
    )
    image = serializers.CharField(allow_blank=True, help_text="kept and given back")
    declared = serializers.DictField(help_text="kept and given back as it came")
    digest = serializers.CharField(help_text="of all but the words")
    archived = serializers.BooleanField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    used_by = serializers.ListField(child=serializers.CharField(), help_text="endpoint names")


class EnvironmentInputSerializer(Fields):
    name = serializers.CharField(max_length=255)
    project = ProjectField()
    version = serializers.IntegerField(
        required=False,
        default=None,
        min_value=1,
        max_value=10**9 - 1,
        allow_null=True,
        help_text="default: the next, or the one that has the same content",
    )
    description = serializers.CharField(required=False, default="", allow_blank=True)
    tags = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, default=dict
    )
    requirements = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=LONGEST_LIST,
        trim_whitespace=False,
        help_text="as pip reads it, a requirement a line",
    )
    conda_file = serializers.DictField(required=False, default=None, allow_null=True)
    image = serializers.CharField(required=False, default="", allow_blank=True, max_length=1024)
    declared = serializers.DictField(required=False, default=dict)


class EnvironmentPatchSerializer(Change):
    empty = {"description": "", "tags": {}}

    description = serializers.CharField(required=False, allow_blank=True)
    tags = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
