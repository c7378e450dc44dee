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
    trust = serializers.ChoiceField(
        choices=["pinned", "public", "local", "plain"],
        help_text="how the agent verifies this server before it sends the token: `pinned` by the "
        "fingerprint in the token, `public` by the authorities that its machine trusts, `local` "
        "not at all on its own machine, `plain` not at all over an unencrypted address",
    )
    fingerprint = serializers.CharField(
        allow_blank=True, help_text="SHA-256 of the certificate that the token names"
    )

    class Meta(JoinTokenSerializer.Meta):
        fields = [*JoinTokenSerializer.Meta.fields, "token", "command", "trust", "fingerprint"]
        read_only_fields = fields
