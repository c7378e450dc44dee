"""The Python SDK, in the shape of azure-ai-ml: ``from shoal import MLClient``."""

from shoal.sdk.alerts import AlertOperations, ChannelOperations
from shoal.sdk.capture import CaptureOperations
from shoal.sdk.deployments import OnlineDeploymentOperations
from shoal.sdk.endpoints import OnlineEndpointOperations
from shoal.sdk.environments import EnvironmentOperations
from shoal.sdk.ml_client import MLClient
from shoal.sdk.models import ModelOperations
from shoal.sdk.objectives import ObjectiveOperations
from shoal.sdk.poller import LROPoller
from shoal.sdk.rollouts import RolloutOperations
from shoal.sdk.workspaces import WorkspaceOperations

__all__ = [
    "AlertOperations",
    "CaptureOperations",
    "ChannelOperations",
    "EnvironmentOperations",
    "LROPoller",
    "MLClient",
    "ModelOperations",
    "ObjectiveOperations",
    "OnlineDeploymentOperations",
    "OnlineEndpointOperations",
    "RolloutOperations",
    "WorkspaceOperations",
]
