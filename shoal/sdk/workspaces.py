"""Workspaces: what programs for Azure ask of them, answered."""

from collections.abc import Iterator
from typing import Any

from shoal.entities import Workspace
from shoal.sdk.shapes import WORKSPACE, WORKSPACE_NAME


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
