"""``MLClient`` for programs with an event loop."""

from typing import Any, Self, overload

import httpx

from shoal import sdk
from shoal.aio.alerts import AlertOperations, ChannelOperations
from shoal.aio.bridge import run
from shoal.aio.capture import CaptureOperations
from shoal.aio.loop import Loop
from shoal.aio.operations import (
    EnvironmentOperations,
    ModelOperations,
    ObjectiveOperations,
    OnlineDeploymentOperations,
    OnlineEndpointOperations,
    RolloutOperations,
    WorkspaceOperations,
    begun,
)
from shoal.aio.poller import AsyncLROPoller
from shoal.client.discovery import Installation
from shoal.display.watcher import Watcher
from shoal.entities import Environment, Model, OnlineDeployment, OnlineEndpoint
from shoal.sdk.ml_client import found_client


class MLClient:
    """Finds the installation as the command line does; ``url`` and ``token`` say it.

    For one event loop; its calls may run side by side. Azure's credential, subscription, resource
    group and workspace are accepted and mean nothing. Everything raises ``ShoalError``.
    """

    def __init__(
        self,
        credential: object = None,
        subscription_id: str | None = None,
        resource_group_name: str | None = None,
        workspace_name: str | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        installation: Installation | None = None,
        project: str = "",
        show_progress: bool = True,
        watcher: Watcher | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Without ``url`` the installation is looked for. Where there is none, all but what is
        ``local`` raises InstallationNotFound.

        ``project``: where new things go, and what lists are of; SHOAL_PROJECT unless said.
        ``transport`` replaces the network in tests.
        """
        client = found_client(
            url,
            token or "",
            installation=installation,
            project=project,
            concurrency=Loop(transport),
        )
        self._blocking = sdk.MLClient(
            credential,
            subscription_id,
            resource_group_name,
            workspace_name,
            client=client,
            show_progress=show_progress,
            watcher=watcher,
        )
        self.workspaces = WorkspaceOperations(self._blocking.workspaces)
        self.environments = EnvironmentOperations(self._blocking.environments)
        self.models = ModelOperations(self._blocking.models)
        self.online_endpoints = OnlineEndpointOperations(self._blocking.online_endpoints)
        self.online_deployments = OnlineDeploymentOperations(self._blocking.online_deployments)
        self.alerts = AlertOperations(self._blocking.alerts)
        self.channels = ChannelOperations(self._blocking.channels)
        self.capture = CaptureOperations(self._blocking.capture)
        self.objectives = ObjectiveOperations(self._blocking.objectives)
        self.rollouts = RolloutOperations(self._blocking.rollouts)

    @property
    def installation(self) -> Installation:
        return self._blocking.installation

    async def begin_create_or_update(
        self, entity: OnlineEndpoint | OnlineDeployment, **options: Any
    ) -> AsyncLROPoller[Any]:
        """Of an endpoint or a deployment."""
        found: AsyncLROPoller[Any] = await begun(
            self._blocking.begin_create_or_update, entity, **options
        )
        return found

    @overload
    async def create_or_update(self, entity: Model) -> Model: ...
    @overload
    async def create_or_update(self, entity: Environment) -> Environment: ...
    async def create_or_update(self, entity: Model | Environment) -> Model | Environment:
        if isinstance(entity, Environment):
            return await self.environments.create_or_update(entity)
        return await self.models.create_or_update(entity)

    async def close(self) -> None:
        await run(self._blocking.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
