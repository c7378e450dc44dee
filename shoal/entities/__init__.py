"""Endpoints, deployments and models as objects, in the shapes that users of Azure ML know."""

from shoal.entities.alerting import AlertRule, AlertThreshold, Channel, Reference, Silence
from shoal.entities.auth import EndpointAuthKeys, EndpointAuthToken
from shoal.entities.deployment import (
    KubernetesOnlineDeployment,
    ManagedOnlineDeployment,
    OnlineDeployment,
)
from shoal.entities.endpoint import (
    IdentityConfiguration,
    KubernetesOnlineEndpoint,
    ManagedIdentityConfiguration,
    ManagedOnlineEndpoint,
    Objective,
    OnlineEndpoint,
)
from shoal.entities.errors import EntityInvalid, Fault
from shoal.entities.loading import (
    load_alert_rules,
    load_channel,
    load_environment,
    load_model,
    load_online_deployment,
    load_online_endpoint,
    load_rollout,
    load_silence,
)
from shoal.entities.model import Model
from shoal.entities.rollout import Rollout
from shoal.entities.settings import (
    BuildContext,
    CodeConfiguration,
    DataCollector,
    DefaultScaleSettings,
    DeploymentCollection,
    Environment,
    OnlineRequestSettings,
    ProbeSettings,
    RequestLogging,
    ResourceRequirementsSettings,
    ResourceSettings,
    Route,
    TargetUtilizationScaleSettings,
)
from shoal.entities.workspace import Workspace

__all__ = [
    "AlertRule",
    "AlertThreshold",
    "BuildContext",
    "Channel",
    "CodeConfiguration",
    "DataCollector",
    "DefaultScaleSettings",
    "DeploymentCollection",
    "EndpointAuthKeys",
    "EndpointAuthToken",
    "EntityInvalid",
    "Environment",
    "Fault",
    "IdentityConfiguration",
    "KubernetesOnlineDeployment",
    "KubernetesOnlineEndpoint",
    "ManagedIdentityConfiguration",
    "ManagedOnlineDeployment",
    "ManagedOnlineEndpoint",
    "Model",
    "Objective",
    "OnlineDeployment",
    "OnlineEndpoint",
    "OnlineRequestSettings",
    "ProbeSettings",
    "Reference",
    "RequestLogging",
    "ResourceRequirementsSettings",
    "ResourceSettings",
    "Rollout",
    "Route",
    "Silence",
    "TargetUtilizationScaleSettings",
    "Workspace",
    "load_alert_rules",
    "load_channel",
    "load_environment",
    "load_model",
    "load_online_deployment",
    "load_online_endpoint",
    "load_rollout",
    "load_silence",
]
