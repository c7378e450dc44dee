"""Writes of deployments, one file per noun."""

from controlplane.deployments.services.advance import operation_cancel
from controlplane.deployments.services.capacity import nodes_fitting, placement_explained
from controlplane.deployments.services.completion import operations_supersede
from controlplane.deployments.services.deployments import (
    deploy,
    deployment_create,
    deployment_delete,
    deployment_pause,
    deployment_put,
    deployment_resume,
    deployment_scale,
    deployment_update,
)
from controlplane.deployments.services.draining import (
    drain_preview,
    drains_advance,
    nodes_drain,
)
from controlplane.deployments.services.endpoints import (
    endpoint_create,
    endpoint_delete,
    endpoint_put,
    endpoint_update,
    mirror_set,
    traffic_set,
)
from controlplane.deployments.services.instance_types import (
    instance_type_create,
    instance_type_delete,
    instance_type_update,
)
from controlplane.deployments.services.keys import endpoint_key_regenerate, endpoint_keys_reveal
from controlplane.deployments.services.nodes import node_delete
from controlplane.deployments.services.previews import placement_preview
from controlplane.deployments.services.reports import (
    LeftOutPart,
    endpoint_advance,
    gateway_confirmed,
    node_report,
)
from controlplane.deployments.services.retries import operation_retry
from controlplane.deployments.services.rollouts import (
    deployment_restart,
    deployment_roll,
    deployment_rollback,
)
from controlplane.deployments.services.spec import Spec
from controlplane.deployments.services.starting import Put
from controlplane.deployments.services.tick import operations_tick
from controlplane.deployments.services.tokens import endpoint_token, endpoint_tokens_revoke
from controlplane.deployments.services.trials import trial_cancel, trial_start

__all__ = [
    "LeftOutPart",
    "Put",
    "Spec",
    "deploy",
    "deployment_create",
    "deployment_delete",
    "deployment_pause",
    "deployment_put",
    "deployment_restart",
    "deployment_resume",
    "deployment_roll",
    "deployment_rollback",
    "deployment_scale",
    "deployment_update",
    "drain_preview",
    "drains_advance",
    "endpoint_advance",
    "endpoint_create",
    "endpoint_delete",
    "endpoint_key_regenerate",
    "endpoint_keys_reveal",
    "endpoint_put",
    "endpoint_token",
    "endpoint_tokens_revoke",
    "endpoint_update",
    "gateway_confirmed",
    "instance_type_create",
    "instance_type_delete",
    "instance_type_update",
    "mirror_set",
    "node_delete",
    "node_report",
    "nodes_drain",
    "nodes_fitting",
    "operation_cancel",
    "operation_retry",
    "operations_supersede",
    "operations_tick",
    "placement_explained",
    "placement_preview",
    "traffic_set",
    "trial_cancel",
    "trial_start",
]
