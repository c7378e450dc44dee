"""Shapes of operations on the wire."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.deployments.serializers.endpoints import Fields, ProblemSerializer
from controlplane.operations.types import OperationKind, OperationState, StageName, StageStatus


class StageSerializer(Fields):
    name = serializers.ChoiceField(choices=StageName.choices)
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=StageStatus.choices)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    detail = serializers.CharField(allow_blank=True)
    progress = serializers.FloatField(allow_null=True, help_text="0..1, null when unknown")


class DeployResultSerializer(Fields):
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    scoring_uri = serializers.CharField()
    plain_uri = serializers.CharField()
    grpc_target = serializers.CharField()
    ca_path = serializers.CharField()
    model = serializers.CharField()
    version = serializers.IntegerField()
    model_name = serializers.CharField(help_text="what clients name; the first when several")
    models = serializers.ListField(child=serializers.CharField())
    provisioning_state = serializers.CharField()
    rollout = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="id of the one that has begun; null where none was asked for, or it could not "
        "begin: the stage `rollout` says why",
    )
    idle_deployments = serializers.ListField(
        child=serializers.CharField(), help_text="deployments without traffic, free to delete"
    )


@extend_schema_serializer(component_name="Operation")
class OperationSerializer(Fields):
    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=OperationKind.choices)
    project = serializers.CharField()
    endpoint = serializers.CharField()
    deployment = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=OperationState.choices)
    stages = StageSerializer(many=True)
    percent = serializers.IntegerField()
    error = ProblemSerializer(allow_null=True)
    result = DeployResultSerializer(allow_null=True)
    warnings = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="it is done as asked, but may not do what was meant",
    )
    deadline_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
