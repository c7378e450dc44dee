"""Writes that begin, move or end operations, one file per noun."""

from controlplane.operations.services.advance import (
    candidate_answered,
    candidate_begin,
    operation_cancel,
)
from controlplane.operations.services.autoscaling import autoscale, deployment_wake
from controlplane.operations.services.completion import operations_supersede
from controlplane.operations.services.deletions import deployment_delete
from controlplane.operations.services.deployments import (
    deploy,
    deployment_confirm,
    deployment_create,
    deployment_patch,
    deployment_pause,
    deployment_put,
    deployment_resume,
    deployment_scale,
)
from controlplane.operations.services.draining import drain_preview, drains_advance, nodes_drain
from controlplane.operations.services.endpoints import (
    endpoint_delete,
    endpoint_patch,
    endpoint_put,
    mirror_set,
    traffic_set,
)
from controlplane.operations.services.golden_gates import asks_first
from controlplane.operations.services.keeping import operations_prune, runs_prune
from controlplane.operations.services.nodes import node_delete, node_leave
from controlplane.operations.services.previews import autoscaling_preview
from controlplane.operations.services.reports import (
    GatewayFacts,
    LeftOutPart,
    endpoint_advance,
    gateway_confirmed,
    node_report,
)
from controlplane.operations.services.retries import operation_retry
from controlplane.operations.services.rolling_updates import (
    deployment_restart,
    deployment_roll,
    deployment_rollback,
)
from controlplane.operations.services.rollout_changes import (
    rollout_abort,
    rollout_pause,
    rollout_promote,
    rollout_resume,
    rollout_start,
)
from controlplane.operations.services.rollout_looks import rollouts_look
from controlplane.operations.services.starting import Put
from controlplane.operations.services.tick import looks_send, operations_tick

__all__ = [
    "GatewayFacts",
    "LeftOutPart",
    "Put",
    "asks_first",
    "autoscale",
    "autoscaling_preview",
    "candidate_answered",
    "candidate_begin",
    "deploy",
    "deployment_confirm",
    "deployment_create",
    "deployment_delete",
    "deployment_patch",
    "deployment_pause",
    "deployment_put",
    "deployment_restart",
    "deployment_resume",
    "deployment_roll",
    "deployment_rollback",
    "deployment_scale",
    "deployment_wake",
    "drain_preview",
    "drains_advance",
    "endpoint_advance",
    "endpoint_delete",
    "endpoint_patch",
    "endpoint_put",
    "gateway_confirmed",
    "looks_send",
    "mirror_set",
    "node_delete",
    "node_leave",
    "node_report",
    "nodes_drain",
    "operation_cancel",
    "operation_retry",
    "operations_prune",
    "operations_supersede",
    "operations_tick",
    "rollout_abort",
    "rollout_pause",
    "rollout_promote",
    "rollout_resume",
    "rollout_start",
    "rollouts_look",
    "runs_prune",
    "traffic_set",
]
