"""Shapes of projects on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.accounts.models import Membership
from controlplane.core.pagination import PageQuery
from controlplane.core.requests import Change

ARCHIVED = ["active", "archived", "all"]
LARGEST = 2**31 - 1
LARGEST_BYTES = 2**63 - 1
Fields = serializers.Serializer[Any]


class ProjectsQuery(PageQuery):
    archived = serializers.ChoiceField(choices=ARCHIVED, default="active")


class ProjectSerializer(Fields):
    name = serializers.CharField()
    display_name = serializers.CharField(allow_blank=True)
    archived = serializers.BooleanField(help_text="nothing new is made in it")
    max_replicas = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    max_gpus = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    max_bytes = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    used_replicas = serializers.IntegerField(help_text="that its deployments ask for")
    used_gpus = serializers.IntegerField(help_text="that their instance types ask for")
    used_bytes = serializers.IntegerField(
        help_text="of its models' versions, and of uploads that are not registered"
    )
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()


class LimitsFields(Fields):
    max_replicas = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=LARGEST, help_text="null: no limit"
    )
    max_gpus = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=LARGEST, help_text="null: no limit"
    )
    max_bytes = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=LARGEST_BYTES,
        help_text="null: no limit",
    )


class ProjectInputSerializer(LimitsFields):
    name = serializers.CharField(max_length=32)
    display_name = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=100
    )


class ProjectPatchSerializer(Change, LimitsFields):
    empty = {"display_name": ""}

    display_name = serializers.CharField(required=False, allow_blank=True, max_length=100)


class MemberSerializer(Fields):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=Membership.Role.choices)
    created_at = serializers.DateTimeField()


class MemberInputSerializer(Fields):
    role = serializers.ChoiceField(choices=Membership.Role.choices)
