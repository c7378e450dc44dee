"""Environments: lists of packages for scoring scripts, registered, listed, archived, restored."""

from collections.abc import Iterator
from typing import Any

from shoal.client.client import Client
from shoal.client.errors import ShoalError
from shoal.client.types import EnvironmentVersion
from shoal.display.watcher import Watcher
from shoal.entities import Environment
from shoal.entities.model import REGISTRY_PREFIX, model_reference
from shoal.sdk.requirements import NotMapped, Requirements, conda_of, requirements_of
from shoal.sdk.shapes import ENVIRONMENT_FIELDS, declared, environment_of, texts, version_number

VIEWS = {"activeonly": "active", "archivedonly": "archived", "all": "all"}


class EnvironmentOperations:
    """``ml_client.environments``."""

    def __init__(self, client: Client, watcher: Watcher) -> None:
        self._client, self._watcher = client, watcher

    def create_or_update(self, environment: Environment) -> Environment:
        """Register its packages; the same content again is the version that it was.

        Raises NotMapped for what pip cannot install, and Problem
        (``EnvironmentVersionImmutable``, ...).
        """
        if not environment.name:
            raise ShoalError("The environment has no name", "name: what it is called")
        needed = self.check(environment)
        for note in needed.notes:
            self._watcher.note(note)
        return environment_of(
            self._client.register_environment(
                environment.name,
                needed.text,
                version=version_number(environment.version),
                conda_file=conda_of(environment, environment.base_path),
                image=environment.image or "",
                description=environment.description or "",
                tags=texts(environment.tags),
                declared=declared(environment._to_dict(), ENVIRONMENT_FIELDS),
            )
        )

    @staticmethod
    def check(environment: Environment) -> Requirements:
        """Its packages as pip reads them. Raises NotMapped, ShoalError."""
        version_number(environment.version)
        return requirements_of(environment, environment.base_path)

    def get(
        self, name: str, version: str | int | None = None, label: str | None = None
    ) -> Environment:
        """``label``: latest. Raises Problem when there is none."""
        if version is not None and label is not None:
            raise ShoalError("Give a version or a label, not both", f"{version}, {label}")
        return environment_of(self._client.get_environment(name, version or label or "latest"))

    def list(
        self, name: str | None = None, *, list_view_type: Any = "ActiveOnly", **_: Any
    ) -> Iterator[Environment]:
        """The newest version of each, or with ``name`` all versions of that one."""
        view = VIEWS[str(getattr(list_view_type, "value", list_view_type)).lower().replace("_", "")]
        if name is None:
            return map(environment_of, self._client.list_environments(archived=view))
        return map(environment_of, self._client.list_environment_versions(name, archived=view))

    def archive(
        self, name: str, version: str | int | None = None, label: str | None = None, **_: Any
    ) -> None:
        self._client.set_environment_archived(name, version or label, archived=True)

    def restore(
        self, name: str, version: str | int | None = None, label: str | None = None, **_: Any
    ) -> None:
        self._client.set_environment_archived(name, version or label, archived=False)

    def referred(self, text: str) -> EnvironmentVersion:
        """What ``azureml:name:3`` or ``azureml:name@latest`` names. Raises NotMapped, Problem."""
        reference = None if text.startswith(REGISTRY_PREFIX) else model_reference(text)
        if reference is None:
            raise NotMapped(
                "That environment is not kept here",
                f"environment: {text}",
                ["Register it: `shoal environment create`; then it is azureml:<name>:<version>."],
            )
        which = reference.version or reference.label or "latest"
        return self._client.get_environment(reference.name, which)
