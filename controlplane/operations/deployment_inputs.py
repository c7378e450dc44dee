"""What is sent to make a deployment that a rollout gives its traffic."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework.request import Request

from controlplane.core.errors import Invalid
from controlplane.core.requests import flag
from controlplane.deployments.serializers.deployment_inputs import (
    DeployInputSerializer,
    DeploymentInputSerializer,
)
from controlplane.operations.rollout_serializers import PlanInputSerializer
from controlplane.operations.services.rollout_firsts import plan_read

ROLLOUT_HELP = (
    "gives it its traffic step by step once it is ready, as `POST .../rollouts` does; in the "
    "place of `traffic`"
)


@extend_schema_serializer(component_name="DeploymentInput")
class DeploymentWithRolloutSerializer(DeploymentInputSerializer):
    rollout = PlanInputSerializer(
        required=False, allow_null=True, default=None, help_text=ROLLOUT_HELP
    )


@extend_schema_serializer(component_name="DeployInput")
class DeployWithRolloutSerializer(DeployInputSerializer):
    rollout = PlanInputSerializer(
        required=False, allow_null=True, default=None, help_text=ROLLOUT_HELP
    )


def rollout_read(values: dict[str, Any], request: Request) -> bool:
    """Check the rollout in ``values``, if any. Whether they move traffic. Raises Invalid for one
    that cannot be, and for a share beside it."""
    if values["rollout"] is not None:
        if values["traffic"] and "traffic" in request.data:
            raise Invalid(
                f"traffic: {values['traffic']}, expected 0 or nothing: `rollout` gives it its "
                "traffic.",
                field="traffic",
                hints=("Say either `traffic` or `rollout`.",),
            )
        if flag(request, "skip_golden"):
            raise Invalid(
                "skip_golden: true, expected nothing beside `rollout`, which asks by itself.",
                field="skip_golden",
                hints=("`rollout.guardrails.golden: null` begins it without them.",),
            )
        values["traffic"] = 0
        plan_read(values["rollout"])
    return values["traffic"] > 0 or values["rollout"] is not None
