"""Shapes of join tokens on the wire. Nodes with their replicas are shown by ``deployments``."""

from rest_framework import serializers

from controlplane.nodes.models import JoinToken


class JoinTokenSerializer(serializers.ModelSerializer[JoinToken]):
    node = serializers.CharField(
        source="node.name", allow_null=True, default=None, help_text="name of the node it let in"
    )

    class Meta:
        model = JoinToken
        fields = ["id", "prefix", "created_by", "created_at", "expires_at", "used_at", "node"]
        read_only_fields = fields


class NewJoinTokenSerializer(JoinTokenSerializer):
    token = serializers.CharField(help_text="Shown only in this answer")
    command = serializers.CharField(help_text="To run on the machine that shall join")
    fingerprint = serializers.CharField(
        help_text="SHA-256 of what signed the agents' port: the token names it, and the agent "
        "verifies it before it sends the token"
    )

    class Meta(JoinTokenSerializer.Meta):
        fields = [*JoinTokenSerializer.Meta.fields, "token", "command", "fingerprint"]
        read_only_fields = fields
