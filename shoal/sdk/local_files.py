"""A deployment's files as a repository that a runtime of this machine serves."""

import shutil
from pathlib import Path
from typing import Final

from shoal.client.client import Client
from shoal.client.errors import ShoalError
from shoal.client.packing import Package
from shoal.dev.repository import repository_of
from shoal.display.watcher import Watcher
from shoal.entities import Environment, Model, OnlineDeployment
from shoal.entities.loading import resolved
from shoal.entities.model import REGISTRY_PREFIX, model_reference
from shoal.sdk.models import package_of
from shoal.sdk.scoring_code import ScoringCode, brings_code
from shoal.sdk.scoring_files import WAITS

# Larger files are linked: a deployment is what its code was when it was made, but weights may be
# larger than the disk has room for twice.
_COPIED: Final = 1 << 20


class LocalFiles:
    def __init__(self, client: Client, watcher: Watcher, code: ScoringCode) -> None:
        self._client, self._watcher, self._code = client, watcher, code

    def write(self, entity: OnlineDeployment, target: Path, *, debug: bool = False) -> None:
        """Make ``target`` the repository. Raises ShoalError for what cannot be one.

        With ``debug`` code is linked, so that breakpoints in it are those of what runs.
        """
        target.mkdir(parents=True)
        model = entity.model
        if brings_code(entity, None):
            with self._code.files(entity) as (package, notes):
                for note in notes:
                    self._watcher.note(note)
                code = entity.code_configuration
                linked = Path(str(code.code)) if debug and code is not None else None
                _place(package, target, linked)
        elif isinstance(model, Model) and model.path is not None:
            with package_of(model) as package:
                if package.note.endswith(WAITS):
                    raise ShoalError(
                        "Nothing in the model is served by itself",
                        f"model.path: {model.path}",
                        ["A deployment's code_configuration names the script that serves it."],
                    )
                _place(package, target, Path(str(model.path)) if debug else None)
        else:
            self._download(entity, target)

    def _download(self, entity: OnlineDeployment, target: Path) -> None:
        model = entity.model
        if isinstance(model, Model):
            model = f"azureml:{model.name}:{model.version}" if model.version else model.name
        reference = model_reference(str(model or ""))
        if reference is None or str(model).startswith(REGISTRY_PREFIX):
            raise ShoalError(
                f"{entity.name} has no model",
                f"model: {model!r}",
                ["A block with path, or azureml:<name>:<version> of an installation."],
            )
        which = reference.version or reference.label or "latest"
        version = self._client.get_model_version(reference.name, which)["version"]
        self._client.download_model(
            reference.name, version, target, on_bytes=self._watcher.receiving
        )


def absolute(entity: OnlineDeployment) -> None:
    """Let its paths lead to where they led, whatever folder they are read in."""
    base = entity.base_path
    code, environment = entity.code_configuration, entity.environment
    if isinstance(entity.model, Model) and entity.model.path is not None:
        entity.model.path = resolved(str(entity.model.path), entity.model.base_path)
    if code is not None and code.code is not None:
        code.code = resolved(str(code.code), base)
    if isinstance(environment, Environment) and isinstance(environment.conda_file, str):
        environment.conda_file = resolved(environment.conda_file, base)


def _place(package: Package, target: Path, linked: Path | None) -> None:
    """Files below ``linked`` are, whatever their size."""
    if package.single is not None:
        repository_of(package.single, target, Path(package.filename).stem)
        return
    for source, name in package.files:
        place = target / name
        if name.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        link = linked is not None and source.is_relative_to(linked)
        if source.stat().st_size <= _COPIED and not link:
            shutil.copy(source, place)
        else:
            place.symlink_to(source.resolve())
