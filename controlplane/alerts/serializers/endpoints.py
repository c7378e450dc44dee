"""Endpoints as they are made and changed, with their objectives."""

from typing import Any

from rest_framework import serializers

from controlplane.alerts.serializers.objectives import NamedObjectiveInputSerializer
from controlplane.deployments.serializers import endpoints


class ObjectivesFields(serializers.Serializer[Any]):
    objectives = NamedObjectiveInputSerializer(
        many=True, required=False, help_text="the whole list; one that is left out stays"
    )


class EndpointInputSerializer(endpoints.EndpointInputSerializer, ObjectivesFields):
    pass


class EndpointPatchSerializer(endpoints.EndpointPatchSerializer, ObjectivesFields):
    """What is left out stays as it is, null takes a setting away."""

    empty = {**endpoints.EndpointPatchSerializer.empty, "objectives": []}


class EndpointPutSerializer(endpoints.EndpointPutSerializer, ObjectivesFields):
    """All of it: what is left out, or null, goes to its default; shares and objectives stay unless
    named."""
