"""The Python SDK for programs with an event loop: ``from shoal.aio import MLClient``.

    async with MLClient() as ml_client:
        endpoint = ManagedOnlineEndpoint(name="net")
        poller = await ml_client.online_endpoints.begin_create_or_update(endpoint)
        endpoint = await poller.result()

Names, arguments, entities and errors are those of ``shoal.MLClient``; what waits there is awaited
here, and what is listed is an asynchronous iterator. Calls may run side by side.
"""

from shoal.aio.alerts import AlertOperations, ChannelOperations
from shoal.aio.capture import CaptureOperations
from shoal.aio.ml_client import MLClient
from shoal.aio.operations import (
    EnvironmentOperations,
    ModelOperations,
    ObjectiveOperations,
    OnlineDeploymentOperations,
    OnlineEndpointOperations,
    RolloutOperations,
    WorkspaceOperations,
)
from shoal.aio.poller import AsyncLROPoller

__all__ = [
    "AlertOperations",
    "AsyncLROPoller",
    "CaptureOperations",
    "ChannelOperations",
    "EnvironmentOperations",
    "MLClient",
    "ModelOperations",
    "ObjectiveOperations",
    "OnlineDeploymentOperations",
    "OnlineEndpointOperations",
    "RolloutOperations",
    "WorkspaceOperations",
]
