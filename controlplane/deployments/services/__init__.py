"""Writes of deployments where no operation has a say, one file per noun."""

from controlplane.deployments.services.capacity import nodes_fitting, placement_explained
from controlplane.deployments.services.deployments import deployment_update
from controlplane.deployments.services.endpoints import endpoint_create, endpoint_update
from controlplane.deployments.services.instance_types import (
    instance_type_create,
    instance_type_delete,
    instance_type_update,
)
from controlplane.deployments.services.keys import endpoint_key_regenerate, endpoint_keys_reveal
from controlplane.deployments.services.tokens import endpoint_token, endpoint_tokens_revoke
from controlplane.deployments.services.trials import trial_cancel, trial_start
from controlplane.deployments.spec import Spec

__all__ = [
    "Spec",
    "deployment_update",
    "endpoint_create",
    "endpoint_key_regenerate",
    "endpoint_keys_reveal",
    "endpoint_token",
    "endpoint_tokens_revoke",
    "endpoint_update",
    "instance_type_create",
    "instance_type_delete",
    "instance_type_update",
    "nodes_fitting",
    "placement_explained",
    "trial_cancel",
    "trial_start",
]
