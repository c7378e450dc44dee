"""Asks the real azure-ai-ml for the names and parameters of its SDK, and prints them as JSON.

Run with a Python that has the package (requirements-azure.txt); see ``make azure-oracle``.
"""

import inspect
import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")

from azure.ai.ml import (  # noqa: E402
    MLClient,
    constants,
    entities,
    exceptions,
    load_model,
    load_online_deployment,
    load_online_endpoint,
)
from azure.ai.ml.operations import (  # noqa: E402
    ModelOperations,
    OnlineDeploymentOperations,
    OnlineEndpointOperations,
)
from azure.core.polling import LROPoller  # noqa: E402

ENTITIES = (
    "CodeConfiguration", "DataCollector", "DefaultScaleSettings", "DeploymentCollection",
    "EndpointAuthKeys", "EndpointAuthToken", "Environment", "KubernetesOnlineDeployment",
    "KubernetesOnlineEndpoint", "ManagedOnlineDeployment", "ManagedOnlineEndpoint", "Model",
    "OnlineDeployment", "OnlineEndpoint", "OnlineRequestSettings", "ProbeSettings",
    "RequestLogging", "ResourceRequirementsSettings", "ResourceSettings",
    "TargetUtilizationScaleSettings",
)  # fmt: skip


def parameters(function: Any) -> list[str]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = inspect.signature(function).parameters.values()
    return [item.name for item in found if item.kind not in kinds and item.name != "self"]


def methods(kind: type) -> dict[str, list[str]]:
    return {
        name: parameters(function)
        for name, function in inspect.getmembers(kind, callable)
        if not name.startswith("_")
    }


def members(constant: str) -> list[tuple[str, Any]]:
    found = vars(getattr(constants, constant)).items()
    return [(name, value) for name, value in found if name.isupper()]


if __name__ == "__main__":
    surface = {
        "MLClient": {"": parameters(MLClient), **methods(MLClient)},
        "models": methods(ModelOperations),
        "online_endpoints": methods(OnlineEndpointOperations),
        "online_deployments": methods(OnlineDeploymentOperations),
        "poller": methods(LROPoller),
        "load": {
            function.__name__: parameters(function)
            for function in (load_model, load_online_deployment, load_online_endpoint)
        },
        "constants": {
            name: {key: str(getattr(value, "value", value)) for key, value in members(name)}
            for name in ("AssetTypes", "ListViewType")
        },
        "exceptions": {
            name: [] for name in dir(exceptions) if name.endswith(("Exception", "Error"))
        },
        "entities": {name: parameters(getattr(entities, name)) for name in ENTITIES},
    }
    json.dump(surface, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
