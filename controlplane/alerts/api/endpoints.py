"""REST of endpoints: made and changed together with their objectives, or not at all."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view

from controlplane.alerts.serializers.endpoints import (
    EndpointInputSerializer,
    EndpointPatchSerializer,
    EndpointPutSerializer,
)
from controlplane.alerts.services.objectives import objectives_set
from controlplane.operations.api import endpoints


class WithObjectives(endpoints.WithMore):
    more = ("objectives",)

    def more_set(self, endpoint: str, more: dict[str, Any], actor: str) -> None:
        if "objectives" in more:
            objectives_set(endpoint=endpoint, wanted=more["objectives"], actor=actor)


@extend_schema_view(post=extend_schema(request=EndpointInputSerializer))
class EndpointsView(WithObjectives, endpoints.EndpointsView):
    post_shape = EndpointInputSerializer


@extend_schema_view(
    put=extend_schema(request=EndpointPutSerializer),
    patch=extend_schema(request=EndpointPatchSerializer),
)
class EndpointView(WithObjectives, endpoints.EndpointView):
    put_shape = EndpointPutSerializer
    patch_shape = EndpointPatchSerializer
