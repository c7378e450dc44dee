"""Workspaces and environments: what programs for Azure ask of them, answered."""

from collections.abc import Iterator
from typing import Any

from shoal.client.errors import ShoalError
from shoal.entities import Environment, Workspace
from shoal.sdk.shapes import WORKSPACE, WORKSPACE_NAME

NO_ENVIRONMENTS = (
    "Leave it out: Triton models are served by Shoal's own runtime.",
    "A deployment's file may carry one; it is kept and given back.",
)


def the_workspace() -> Workspace:
    found = Workspace(
        name=WORKSPACE_NAME,
        display_name=WORKSPACE_NAME,
        location="local",
        resource_group=WORKSPACE_NAME,
    )
    found.id = WORKSPACE
    return found


class WorkspaceOperations:
    """``ml_client.workspaces``: the installation is the only one, whatever it is called."""

    def get(self, name: str | None = None, **_: Any) -> Workspace:
        del name
        return the_workspace()

    def list(self, *, scope: str = "resource_group", **_: Any) -> Iterator[Workspace]:
        del scope
        return iter([the_workspace()])


class EnvironmentOperations:
    """``ml_client.environments``: there are none."""

    def get(self, name: str, version: str | None = None, label: str | None = None) -> Environment:
        """Raises ShoalError."""
        which = "".join((f":{version}" if version else "", f"@{label}" if label else ""))
        raise ShoalError(f"There is no environment {name}{which}", "", NO_ENVIRONMENTS)

    def list(self, name: str | None = None, **_: Any) -> Iterator[Environment]:
        del name
        return iter(())

    def create_or_update(self, environment: Environment) -> Environment:
        """Raises ShoalError."""
        raise ShoalError(
            "Environments are not registered", f"environment {environment.name}", NO_ENVIRONMENTS
        )
