"""What the views of models, environments and code share: versions, containers, lists."""

from typing import Any

from rest_framework.request import Request

from controlplane.accounts.projects import project_for
from controlplane.accounts.types import DEFAULT_PROJECT
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.types import Place, Values

VIEWS = {"activeonly": "active", "archivedonly": "archived", "all": "all"}


def archived_of(request: Request) -> str:
    """Our word for Azure's `listViewType`. Raises AzureInvalid."""
    text = request.query_params.get("listViewType", "ActiveOnly")
    view = VIEWS.get(text.lower())
    if view is None:
        raise AzureInvalid(
            f"listViewType: {text[:40]!r}, expected ActiveOnly, ArchivedOnly or All.",
            field="listViewType",
        )
    return view


def number_of(version: str, *, anonymous: bool) -> int | None:
    """A version as a number; None for that of an asset without a name, which is told by its
    content. Raises AzureInvalid."""
    if version.isascii() and version.isdecimal() and 0 < len(version) < 10 and int(version):
        return None if anonymous else int(version)
    if anonymous:
        return None
    raise AzureInvalid(
        f"version: {version[:60]!r}, expected a whole number from 1.",
        field="version",
        hints=("Leave it out to get the next one.",),
    )


def called(name: str, project: str, *, anonymous: bool) -> str:
    """What an asset is called here: one that nobody named has the same name in all projects, where
    names are unique in the installation.

    ``project``: as ``project_for`` takes it. Raises what that raises.
    """
    if not anonymous:
        return name
    chosen = project_for(project)
    return name if chosen == DEFAULT_PROJECT else f"{name}.{chosen}"


def container(
    place: Place, kind: str, name: str, *, latest: int, archived: bool, **properties: Any
) -> Values:
    return {
        "id": place.id(kind, name),
        "name": name,
        "type": f"Microsoft.MachineLearningServices/workspaces/{kind}",
        "properties": {
            "latestVersion": str(latest),
            "nextVersion": str(latest + 1),
            "isArchived": archived,
            "properties": {},
            **properties,
        },
    }
