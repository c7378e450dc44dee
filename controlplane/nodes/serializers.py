"""Shapes of join tokens on the wire. Nodes with their replicas are shown by ``deployments``."""

from typing import Any

from rest_framework import serializers


class JoinTokenSerializer(serializers.Serializer[Any]):
    token = serializers.CharField(help_text="Shown only in this answer")
    command = serializers.CharField(help_text="To run on the machine that shall join")
    expires_at = serializers.DateTimeField()
