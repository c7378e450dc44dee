"""Endpoints, deployments and models: the calls of ``shoal.sdk``, awaited."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from shoal import entities, sdk
from shoal.aio.bridge import run
from shoal.aio.poller import AsyncLROPoller
from shoal.client.alert_types import Objective
from shoal.client.rollout_types import Rollout, RolloutDifference
from shoal.entities import (
    EndpointAuthKeys,
    EndpointAuthToken,
    Environment,
    Model,
    OnlineDeployment,
    OnlineEndpoint,
    Workspace,
)
from shoal.sdk.poller import LROPoller

T = TypeVar("T")


async def begun(begin: Callable[..., LROPoller[T]], *args: Any, **options: Any) -> Any:
    """The poller, once the change has been accepted."""
    return AsyncLROPoller(await run(begin, *args, **options))


async def _each(found: Callable[[], Iterable[T]]) -> AsyncIterator[T]:
    for item in await run(lambda: list(found())):
        yield item


class OnlineEndpointOperations:
    """``ml_client.online_endpoints``."""

    def __init__(self, blocking: sdk.OnlineEndpointOperations) -> None:
        self._blocking = blocking

    async def begin_create_or_update(
        self, endpoint: OnlineEndpoint, *, supersede: bool = False, local: bool = False
    ) -> AsyncLROPoller[OnlineEndpoint]:
        found: AsyncLROPoller[OnlineEndpoint] = await begun(
            self._blocking.begin_create_or_update, endpoint, supersede=supersede, local=local
        )
        return found

    async def get(self, name: str, *, local: bool = False) -> OnlineEndpoint:
        return await run(self._blocking.get, name, local=local)

    def list(self, *, local: bool = False) -> AsyncIterator[OnlineEndpoint]:
        return _each(lambda: self._blocking.list(local=local))

    async def begin_delete(self, name: str, *, local: bool = False) -> AsyncLROPoller[None]:
        found: AsyncLROPoller[None] = await begun(self._blocking.begin_delete, name, local=local)
        return found

    async def get_keys(self, name: str) -> EndpointAuthKeys | EndpointAuthToken:
        """Two keys, or where the endpoint says ``aml_token`` a token that expires."""
        return await run(self._blocking.get_keys, name)

    list_keys = get_keys

    async def begin_regenerate_keys(
        self, name: str, *, key_type: str = "primary"
    ) -> AsyncLROPoller[None]:
        found: AsyncLROPoller[None] = await begun(
            self._blocking.begin_regenerate_keys, name, key_type=key_type
        )
        return found

    regenerate_keys = begin_regenerate_keys

    async def invoke(
        self,
        endpoint_name: str,
        *,
        request_file: str | Path | None = None,
        deployment_name: str | None = None,
        input_data: Any = None,
        local: bool = False,
    ) -> str:
        """The answer's text. Raises ScoringFailed with the endpoint's own words."""
        return await run(
            self._blocking.invoke,
            endpoint_name,
            request_file=request_file,
            deployment_name=deployment_name,
            input_data=input_data,
            local=local,
        )

    async def set_traffic(
        self,
        name: str,
        traffic: Mapping[str, int] | None,
        mirror: Mapping[str, int] | None = None,
        *,
        rules: Sequence[Mapping[str, Any]] | None = None,
        sticky: Mapping[str, Any] | None = None,
        supersede: bool = False,
    ) -> AsyncLROPoller[OnlineEndpoint]:
        """Replace the whole map; deployments that are still coming up are waited for.

        ``rules`` and ``sticky``: ``traffic_rules`` and ``sticky`` of ``OnlineEndpoint``; None
        leaves them, and what is empty takes them away. ``supersede``: wait for none, and cancel
        what is about to move the traffic.
        """
        found: AsyncLROPoller[OnlineEndpoint] = await begun(
            self._blocking.set_traffic,
            name,
            traffic,
            mirror,
            rules=rules,
            sticky=sticky,
            supersede=supersede,
        )
        return found


class OnlineDeploymentOperations:
    """``ml_client.online_deployments``."""

    def __init__(self, blocking: sdk.OnlineDeploymentOperations) -> None:
        self._blocking = blocking

    async def begin_create_or_update(
        self,
        deployment: OnlineDeployment,
        *,
        all_traffic: bool = False,
        traffic: int | None = None,
        rollout: Mapping[str, Any] | None = None,
        supersede: bool = False,
        skip_golden: bool = False,
        local: bool = False,
        vscode_debug: bool = False,
    ) -> AsyncLROPoller[OnlineDeployment]:
        """Registers the model first when it is a local one.

        ``traffic`` and ``rollout``: what a new deployment gets once it is ready, a share in percent
        or its traffic step by step, as ``rollouts.start`` takes it.

        ``supersede``: cancel what is under way there instead of a refusal. ``skip_golden``: it
        answers requests without being asked golden cases first.
        """
        found: AsyncLROPoller[OnlineDeployment] = await begun(
            self._blocking.begin_create_or_update,
            deployment,
            all_traffic=all_traffic,
            traffic=traffic,
            rollout=rollout,
            supersede=supersede,
            skip_golden=skip_golden,
            local=local,
            vscode_debug=vscode_debug,
        )
        return found

    async def get(self, name: str, endpoint_name: str, *, local: bool = False) -> OnlineDeployment:
        return await run(self._blocking.get, name, endpoint_name, local=local)

    def list(self, endpoint_name: str, *, local: bool = False) -> AsyncIterator[OnlineDeployment]:
        return _each(lambda: self._blocking.list(endpoint_name, local=local))

    async def begin_delete(
        self, name: str, endpoint_name: str, *, local: bool = False
    ) -> AsyncLROPoller[None]:
        found: AsyncLROPoller[None] = await begun(
            self._blocking.begin_delete, name, endpoint_name, local=local
        )
        return found

    async def begin_stop(
        self, name: str, endpoint_name: str, *, force: bool = False, supersede: bool = False
    ) -> AsyncLROPoller[OnlineDeployment]:
        """Pause it: no replicas, all else stays."""
        found: AsyncLROPoller[OnlineDeployment] = await begun(
            self._blocking.begin_stop, name, endpoint_name, force=force, supersede=supersede
        )
        return found

    async def begin_restart(
        self, name: str, endpoint_name: str
    ) -> AsyncLROPoller[OnlineDeployment]:
        """Each replica gives way to a fresh one, which answers first."""
        found: AsyncLROPoller[OnlineDeployment] = await begun(
            self._blocking.begin_restart, name, endpoint_name
        )
        return found

    async def begin_rollback(
        self, name: str, endpoint_name: str, revision: int | None = None, *, supersede: bool = False
    ) -> AsyncLROPoller[OnlineDeployment]:
        """Run an earlier revision again."""
        found: AsyncLROPoller[OnlineDeployment] = await begun(
            self._blocking.begin_rollback, name, endpoint_name, revision, supersede=supersede
        )
        return found

    async def begin_start(
        self, name: str, endpoint_name: str, *, supersede: bool = False
    ) -> AsyncLROPoller[OnlineDeployment]:
        """Resume what was stopped, with as many replicas as before."""
        found: AsyncLROPoller[OnlineDeployment] = await begun(
            self._blocking.begin_start, name, endpoint_name, supersede=supersede
        )
        return found

    async def get_logs(
        self,
        name: str,
        endpoint_name: str,
        lines: int,
        *,
        container_type: str | None = None,
        local: bool = False,
    ) -> str:
        return await run(
            self._blocking.get_logs,
            name,
            endpoint_name,
            lines,
            container_type=container_type,
            local=local,
        )


class ModelOperations:
    """``ml_client.models``."""

    def __init__(self, blocking: sdk.ModelOperations) -> None:
        self._blocking = blocking

    async def create_or_update(self, model: Model, *, same_tensors: bool = False) -> Model:
        """Register what ``model.path`` holds; the same content again is the version that it was."""
        return await run(self._blocking.create_or_update, model, same_tensors=same_tensors)

    async def get(
        self, name: str, version: str | int | None = None, label: str | None = None
    ) -> Model:
        return await run(self._blocking.get, name, version, label)

    def list(
        self, name: str | None = None, *, list_view_type: Any = "ActiveOnly"
    ) -> AsyncIterator[Model]:
        return _each(lambda: self._blocking.list(name, list_view_type=list_view_type))

    async def archive(
        self, name: str, version: str | int | None = None, label: str | None = None
    ) -> None:
        await run(self._blocking.archive, name, version, label)

    async def restore(
        self, name: str, version: str | int | None = None, label: str | None = None
    ) -> None:
        await run(self._blocking.restore, name, version, label)

    async def download(
        self, name: str, version: str | int, download_path: str | Path = "."
    ) -> None:
        """Into ``download_path``/``name``, as the repository that was registered."""
        await run(self._blocking.download, name, version, download_path)


class WorkspaceOperations:
    """``ml_client.workspaces``."""

    def __init__(self, blocking: sdk.WorkspaceOperations) -> None:
        self._blocking = blocking

    async def get(self, name: str | None = None) -> Workspace:
        return self._blocking.get(name)

    def list(self, *, scope: str = "resource_group") -> AsyncIterator[Workspace]:
        return _each(lambda: self._blocking.list(scope=scope))


class EnvironmentOperations:
    """``ml_client.environments``."""

    def __init__(self, blocking: sdk.EnvironmentOperations) -> None:
        self._blocking = blocking

    async def create_or_update(self, environment: Environment) -> Environment:
        """Register its packages; the same content again is the version that it was."""
        return await run(self._blocking.create_or_update, environment)

    async def get(
        self, name: str, version: str | int | None = None, label: str | None = None
    ) -> Environment:
        return await run(self._blocking.get, name, version, label)

    def list(
        self, name: str | None = None, *, list_view_type: Any = "ActiveOnly"
    ) -> AsyncIterator[Environment]:
        return _each(lambda: self._blocking.list(name, list_view_type=list_view_type))

    async def archive(
        self, name: str, version: str | int | None = None, label: str | None = None
    ) -> None:
        await run(self._blocking.archive, name, version, label)

    async def restore(
        self, name: str, version: str | int | None = None, label: str | None = None
    ) -> None:
        await run(self._blocking.restore, name, version, label)


class ObjectiveOperations:
    """``ml_client.objectives``."""

    def __init__(self, blocking: sdk.ObjectiveOperations) -> None:
        self._blocking = blocking

    async def set(self, endpoint_name: str, name: str, **options: Any) -> Objective:
        """``options``: kind, target_percent, window_days, threshold_ms."""
        return await run(self._blocking.set, endpoint_name, name, **options)

    async def get(self, endpoint_name: str, name: str) -> Objective:
        return await run(self._blocking.get, endpoint_name, name)

    def list(self, endpoint_name: str) -> AsyncIterator[Objective]:
        return _each(lambda: self._blocking.list(endpoint_name))

    async def delete(self, endpoint_name: str, name: str) -> None:
        await run(self._blocking.delete, endpoint_name, name)


class RolloutOperations:
    """``ml_client.rollouts``."""

    def __init__(self, blocking: sdk.RolloutOperations) -> None:
        self._blocking = blocking

    async def start(self, endpoint_name: str, deployment_name: str, **options: Any) -> Rollout:
        """``options``: steps, min_requests, guardrails, compare, strategy, shadow, supersede."""
        return await run(self._blocking.start, endpoint_name, deployment_name, **options)

    async def create(self, rollout: entities.Rollout, *, supersede: bool = False) -> Rollout:
        return await run(self._blocking.create, rollout, supersede=supersede)

    async def get(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return await run(self._blocking.get, endpoint_name, rollout_id)

    async def differences(
        self, endpoint_name: str, rollout_id: str | None = None
    ) -> Sequence[RolloutDifference]:
        return await run(self._blocking.differences, endpoint_name, rollout_id)

    def list(self, endpoint_name: str) -> AsyncIterator[Rollout]:
        return _each(lambda: self._blocking.list(endpoint_name))

    async def pause(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return await run(self._blocking.pause, endpoint_name, rollout_id)

    async def resume(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return await run(self._blocking.resume, endpoint_name, rollout_id)

    async def promote(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return await run(self._blocking.promote, endpoint_name, rollout_id)

    async def abort(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return await run(self._blocking.abort, endpoint_name, rollout_id)

    async def wait(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return await run(self._blocking.wait, endpoint_name, rollout_id)
