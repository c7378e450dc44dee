"""The client's calls about environments: lists of packages, by name and version."""

from collections.abc import Mapping
from typing import Any, cast

from shoal.client.administration import Administration, quoted
from shoal.client.types import EnvironmentVersion


class Environments(Administration):
    """A part of ``Client``."""

    def list_environments(self, *, archived: str = "active") -> list[EnvironmentVersion]:
        """The newest version of each; ``archived``: active, archived or all."""
        project = self.project or None
        return list(self._items("/environments", archived=archived, project=project))

    def list_environment_versions(
        self, name: str, *, archived: str = "active"
    ) -> list[EnvironmentVersion]:
        """The newest first."""
        return list(self._items(f"/environments/{quoted(name)}/versions", archived=archived))

    def get_environment(self, name: str, version: int | str = "latest") -> EnvironmentVersion:
        return cast(EnvironmentVersion, self._get(_version(name, version)))

    def register_environment(
        self,
        name: str,
        requirements: str,
        *,
        version: int | None = None,
        conda_file: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> EnvironmentVersion:
        """A new environment, its next version, or the one that has the same content already.

        ``requirements`` as pip reads them; ``conda_file`` is what they were made from. ``more``:
        image, description, tags, declared, project.
        """
        body = {
            "name": name,
            "requirements": requirements,
            "version": version,
            "conda_file": conda_file,
            **self._in_project(),
            **more,
        }
        return cast(EnvironmentVersion, self._transport.json("POST", "/environments", json=body))

    def update_environment(self, name: str, version: int | str, **words: Any) -> EnvironmentVersion:
        """``words``: description, tags."""
        path = _version(name, version)
        return cast(EnvironmentVersion, self._transport.json("PATCH", path, json=words))

    def set_environment_archived(
        self, name: str, version: int | str | None = None, *, archived: bool
    ) -> None:
        """All of it, or one version: hidden from lists, or back."""
        where = f"/environments/{quoted(name)}" if version is None else _version(name, version)
        self._transport.json("POST", f"{where}/{'archive' if archived else 'restore'}")


def _version(name: str, version: int | str) -> str:
    return f"/environments/{quoted(name)}/versions/{quoted(str(version))}"
