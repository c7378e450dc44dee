"""Workspaces: an installation is one."""

from dataclasses import dataclass

from shoal.entities.base import Entity


@dataclass(kw_only=True)
class Workspace(Entity):
    """As far as programs read it; cloud resources beside one are none here."""

    display_name: str | None = None
    location: str | None = None
    resource_group: str | None = None
    storage_account: str | None = None
    container_registry: str | None = None
    key_vault: str | None = None
    application_insights: str | None = None
