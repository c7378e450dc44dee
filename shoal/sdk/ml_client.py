"""``MLClient``: the installation, in the shape of azure-ai-ml's client."""

from typing import Any, Self, TypeVar, cast, overload

from shoal.client.absent import Absent
from shoal.client.client import Client
from shoal.client.concurrency import Concurrency
from shoal.client.discovery import Installation
from shoal.client.errors import InstallationNotFound, ShoalError
from shoal.display.default import default_watcher
from shoal.display.watcher import Quiet, Watcher
from shoal.entities import Environment, Model, OnlineDeployment, OnlineEndpoint
from shoal.sdk.alerts import AlertOperations, ChannelOperations
from shoal.sdk.capture import CaptureOperations
from shoal.sdk.deployments import OnlineDeploymentOperations
from shoal.sdk.endpoints import OnlineEndpointOperations
from shoal.sdk.environments import EnvironmentOperations
from shoal.sdk.local_endpoints import LocalEndpoints
from shoal.sdk.local_files import LocalFiles
from shoal.sdk.models import ModelOperations
from shoal.sdk.objectives import ObjectiveOperations
from shoal.sdk.poller import LROPoller
from shoal.sdk.rollouts import RolloutOperations
from shoal.sdk.scoring_code import ScoringCode
from shoal.sdk.shapes import WORKSPACE_NAME
from shoal.sdk.workspaces import WorkspaceOperations

EntityT = TypeVar("EntityT", OnlineEndpoint, OnlineDeployment)


def found_client(
    url: str | None = None,
    token: str = "",
    *,
    concurrency: Concurrency | None = None,
    **options: Any,
) -> Client:
    """The client of the installation, or what stands for one where there is none."""
    try:
        return Client(url, token, concurrency=concurrency, **options)
    except InstallationNotFound as error:
        return cast(Client, Absent(error, concurrency))


class MLClient:
    """Finds the installation as the command line does; ``url`` and ``token`` say it.

    Azure's credential, subscription, resource group and workspace are accepted and mean nothing: an
    installation is one workspace. Not thread-safe. Everything raises ``ShoalError``: ``title``,
    ``detail``, ``hints`` and, where the installation refuses, ``code``.
    """

    def __init__(
        self,
        credential: object = None,
        subscription_id: str | None = None,
        resource_group_name: str | None = None,
        workspace_name: str | None = None,
        registry_name: str | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        project: str = "",
        client: Client | None = None,
        show_progress: bool = True,
        watcher: Watcher | None = None,
        **_: Any,
    ) -> None:
        """Without ``url`` the installation is looked for. Where there is none, all but what is
        ``local`` raises InstallationNotFound.

        ``project``: where new things go, and what lists are of; SHOAL_PROJECT unless said.
        ``show_progress``: bars below a notebook's cell or on a terminal's stderr; where neither is,
        nothing is shown. ``watcher`` hears of all progress instead.
        """
        del credential, registry_name
        self.subscription_id = subscription_id
        self.resource_group_name = resource_group_name
        self.workspace_name = workspace_name or WORKSPACE_NAME
        self.client = client or found_client(url, token or "", project=project)
        watcher = watcher or (default_watcher() if show_progress else Quiet())
        self.workspaces = WorkspaceOperations()
        self.environments = EnvironmentOperations(self.client, watcher)
        self.models = ModelOperations(self.client, watcher)
        code = ScoringCode(self.client, watcher, self.models, self.environments)
        files = LocalFiles(self.client, watcher, code)
        self.local = LocalEndpoints(self.client, watcher, files)
        self.online_endpoints = OnlineEndpointOperations(self.client, watcher, self.local)
        self.online_deployments = OnlineDeploymentOperations(
            self.client, watcher, self.models, self.online_endpoints, code, self.local
        )
        self.alerts = AlertOperations(self.client)
        self.channels = ChannelOperations(self.client)
        self.capture = CaptureOperations(self.client)
        self.objectives = ObjectiveOperations(self.client)
        self.rollouts = RolloutOperations(self.client)

    @classmethod
    def from_config(cls, credential: object = None, **options: Any) -> Self:
        """As ``MLClient()``: Shoal keeps its address in client.json."""
        options.pop("path", None)
        options.pop("file_name", None)
        return cls(credential, **options)

    @property
    def installation(self) -> Installation:
        return self.client.installation

    def begin_create_or_update(self, entity: EntityT, **options: Any) -> LROPoller[EntityT]:
        """Of an endpoint or a deployment."""
        return cast(LROPoller[EntityT], self._begin(entity, **options))

    def _begin(self, entity: object, **options: Any) -> object:
        if isinstance(entity, OnlineEndpoint):
            return self.online_endpoints.begin_create_or_update(entity, **options)
        if isinstance(entity, OnlineDeployment):
            return self.online_deployments.begin_create_or_update(entity, **options)
        raise ShoalError(
            f"{type(entity).__name__} cannot be created so", "endpoints and deployments can",
            ["Models: ml_client.models.create_or_update(model)"],
        )  # fmt: skip

    @overload
    def create_or_update(self, entity: Model, **_: Any) -> Model: ...
    @overload
    def create_or_update(self, entity: Environment, **_: Any) -> Environment: ...
    def create_or_update(self, entity: Model | Environment, **_: Any) -> Model | Environment:
        if isinstance(entity, Environment):
            return self.environments.create_or_update(entity)
        return self.models.create_or_update(entity)

    def close(self) -> None:
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
