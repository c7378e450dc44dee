"""A deployment's scoring script, with its model and its environment, as one registered model.

The version is told by its content: the same script, model and packages are the same version.
"""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.client.client import Client
from shoal.client.errors import ShoalError
from shoal.client.file_uploads import Listed, listed
from shoal.client.ignoring import ignored_by
from shoal.client.packing import Package, walked
from shoal.client.types import Deployment, ModelVersion
from shoal.display.watcher import Watcher
from shoal.entities import CodeConfiguration, Environment, Model, OnlineDeployment
from shoal.entities.base import plain
from shoal.entities.loading import REMOTE, resolved
from shoal.entities.model import ModelReference, model_reference
from shoal.sdk.environments import EnvironmentOperations
from shoal.sdk.models import ModelOperations, located
from shoal.sdk.requirements import Requirements, conda_of, requirements_of
from shoal.sdk.scoring_files import APP, MODELS, Placed, placed, scoring_package
from wire import scoring


class ScriptUnusable(ShoalError):
    """A code configuration that names no script."""

    code = "BadArgument"


@dataclass(frozen=True)
class _Parts:
    """What is sent: files of this machine, and files of registered versions by their digest.

    ``environment``: the registered one with its number, "" for none.
    """

    package: Package
    registered: tuple[Listed, ...]
    notes: tuple[str, ...]
    environment: str


class ScoringCode:
    """Registers what deployments with a ``code_configuration`` run."""

    def __init__(
        self,
        client: Client,
        watcher: Watcher,
        models: ModelOperations,
        environments: EnvironmentOperations,
    ) -> None:
        self._client, self._watcher = client, watcher
        self._models, self._environments = models, environments

    def register(self, entity: OnlineDeployment) -> tuple[OnlineDeployment, ModelVersion]:
        """The deployment as it refers to what was registered, and that version.

        Raises ScriptUnusable, NotMapped, UnusableSource, and what registering raises.
        """
        with self._parts(entity) as parts:
            for note in parts.notes:
                self._watcher.note(note)
            files = self._listed(parts)
            version = self._models.register_files(
                parts.package,
                files,
                name=parts.package.filename,
                description=f"{_script(entity)} of deployment {entity.endpoint_name}/{entity.name}",
                declared={"environment": parts.environment} if parts.environment else {},
            )
        return _referring(entity, version, parts.environment), version

    def known(self, entity: OnlineDeployment) -> ModelVersion | None:
        """The version that has all of it already, if there is one."""
        with self._parts(entity) as parts:
            files = self._listed(parts)
            return self._models.known_files(parts.package.filename, parts.package, files)

    def check(self, entity: OnlineDeployment) -> None:
        """Whether it could be sent. Raises what ``register`` raises before it sends anything."""
        with self._parts(entity):
            pass

    @contextmanager
    def files(self, entity: OnlineDeployment) -> Iterator[tuple[Package, tuple[str, ...]]]:
        """All of it as files of this machine, for a runtime here, and what people should know.

        Raises what ``register`` raises before it sends anything, and ScriptUnusable for what is
        registered: its bytes are not here.
        """
        with self._parts(entity) as parts:
            if parts.registered:
                raise ScriptUnusable(
                    "The code or the model is registered, and its files are not on this machine",
                    f"model: {plain(entity.model)}, code_configuration: "
                    f"{plain(entity.code_configuration)}",
                    ["`shoal model download` fetches them; name the folders then."],
                )
            yield parts.package, parts.notes

    def _listed(self, parts: _Parts) -> list[Listed]:
        own = listed(parts.package, self._client.concurrency, self._watcher.hashing)
        return [*own, *parts.registered]

    @contextmanager
    def _parts(self, entity: OnlineDeployment) -> Iterator[_Parts]:
        name = f"{entity.endpoint_name}-{entity.name}"
        version, script = f"{name}/1", _script(entity)
        needed, environment = self._needed(entity)
        code, registered, source = self._code(entity, script, f"{version}/{APP}")
        model, more = self._model(entity, f"{version}/{MODELS}")
        texts = {"requirements.txt": needed.text} if needed.text else {}
        place, workers = f"{APP}/{script}", workers_of(entity.environment_variables)
        with scoring_package(
            name,
            [*code, *model],
            script=place,
            workers=workers,
            batching=_batching(script, source),
            texts=texts,
        ) as package:
            yield _Parts(package, (*registered, *more), tuple(needed.notes), environment)

    def _needed(self, entity: OnlineDeployment) -> tuple[Requirements, str]:
        """The packages, and the registered environment that they are of, "" for none."""
        if not isinstance(entity.environment, str):
            return requirements_of(entity.environment, entity.base_path), ""
        found = self._environments.referred(entity.environment)
        name = f"azureml:{found['name']}:{found['version']}"
        return Requirements(found["requirements"]), name

    def _code(
        self, entity: OnlineDeployment, script: str, target: str
    ) -> tuple[list[Placed], list[Listed], str]:
        """Files of this machine, files that are registered, and what stands in the script."""
        given = str(_configuration(entity).code or ".")
        reference = model_reference(given) if REMOTE.match(given) else None
        if reference is not None:
            version = self._version(reference)
            return [], _of_version(version, APP, target), self._source(version, script)
        folder = Path(resolved(given, entity.base_path))
        if not folder.is_dir():
            raise ScriptUnusable(
                "The code folder cannot be read", f"code_configuration.code: {folder} is no folder"
            )
        if not (folder / script).is_file():
            raise ScriptUnusable(
                "There is no such scoring script",
                f"code_configuration.scoring_script: {script} is no file in {folder}",
            )
        by, ignored = ignored_by(folder)
        files = [(path, name) for path, name in walked(folder, ignored) if not name.endswith("/")]
        if script not in [name for _, name in files]:
            raise ScriptUnusable(
                "The scoring script is left out of its folder",
                f"code_configuration.scoring_script: {script} matches a line of {folder / by}",
            )
        placed_files = [(path, f"{target}/{name}") for path, name in files]
        return placed_files, [], (folder / script).read_text(encoding="utf-8", errors="replace")

    def _model(self, entity: OnlineDeployment, target: str) -> tuple[list[Placed], list[Listed]]:
        """A folder or a file keeps its own name below ``target``, as in Azure."""
        model = entity.model
        if model is None:
            return [], []
        if isinstance(model, Model) and model.path is None:
            named = ModelReference(str(model.name), model.version)
            return [], _of_version(self._version(named), MODELS, target)
        if isinstance(model, str):
            reference = model_reference(model)
            if reference is None:
                raise ShoalError(f"{model!r} refers to no model", "", [_REFERENCES])
            return [], _of_version(self._version(reference), MODELS, target)
        return placed(located(model), target), []

    def _version(self, reference: ModelReference) -> ModelVersion:
        which = reference.version or reference.label or "latest"
        return self._client.get_model_version(reference.name, which)

    def _source(self, version: ModelVersion, script: str) -> str:
        """The text of a registered script; empty where it is not there, which loading tells."""
        paths = scoring.chosen([row["path"] for row in version["manifest"]], APP)
        for path in (path for path, place in paths.items() if place == script):
            found = self._client.read_model_file(version["model"], version["version"], path)
            return found.decode("utf-8", "replace")
        return ""


def _of_version(version: ModelVersion, part: str, target: str) -> list[Listed]:
    """Files of a registered version: of one for scripts that ``part``, else all of them."""
    found = {row["path"]: row for row in version["manifest"]}
    chosen = scoring.chosen(found, part)
    if part == APP and not chosen:
        raise ScriptUnusable(
            "There is no scoring script in that version",
            f"code_configuration.code: azureml:{version['model']}:{version['version']}",
            ["Give the local folder of the script."],
        )
    return [
        Listed(None, f"{target}/{place}", found[path]["size"], found[path]["sha256"])
        for path, place in sorted(chosen.items())
    ]


_REFERENCES = "azureml:<name>:<version>, or <name>@latest."


def brings_code(entity: OnlineDeployment, current: Deployment | None) -> bool:
    """Whether a version has to be made of it: not if it names one that is meant as it is."""
    given = entity.code_configuration
    if given is None:
        return False
    runs = f"azureml:{current['model']}:{current['version']}" if current else None
    if not given.code or (_reference_of(entity.model) or runs) != given.code:
        return True
    if current is None or given.code != runs:
        return False
    before = current.get("declared") or {}
    return (
        plain(given) != before.get("code_configuration")
        or plain(entity.environment) != before.get("environment")
        or workers_of(entity.environment_variables) != workers_of(current.get("environment"))
    )


def workers_of(variables: Mapping[str, Any] | None) -> int:
    """How many processes Azure's server has, one if nothing is said. Raises ScriptUnusable."""
    try:
        return scoring.workers_of(variables)
    except ValueError as error:
        raise ScriptUnusable(
            "There cannot be so many workers", f"environment_variables.{scoring.WORKERS}: {error}"
        ) from error


def _batching(script: str, source: str) -> scoring.Batching | None:
    """Raises ScriptUnusable."""
    try:
        return scoring.batching_of(source)
    except ValueError as error:
        raise ScriptUnusable(
            "The scoring script cannot be batched so",
            f"code_configuration.scoring_script: {script}: {error}",
        ) from error


def _reference_of(model: str | Model | None) -> str | None:
    if isinstance(model, Model):
        return str(model.path) if model.path else f"azureml:{model.name}:{model.version}"
    return model


def _configuration(entity: OnlineDeployment) -> CodeConfiguration:
    assert entity.code_configuration is not None  # noqa: S101 # who asks has looked
    return entity.code_configuration


def _script(entity: OnlineDeployment) -> str:
    """The script's path in its folder. Raises ScriptUnusable."""
    given = str(_configuration(entity).scoring_script or "")
    fault = scoring.script_fault(given)
    if fault:
        raise ScriptUnusable(
            "There is no such scoring script",
            f"code_configuration.scoring_script: {given!r}: {fault}",
        )
    return PurePosixPath(given).as_posix()


def _referring(
    entity: OnlineDeployment, version: ModelVersion, environment: str
) -> OnlineDeployment:
    """What is kept of it: that version for model and code, the environment with its packages."""
    name = f"azureml:{version['model']}:{version['version']}"
    kept = copy.copy(entity)
    kept.model = name
    kept.code_configuration = CodeConfiguration(name, _script(entity))
    if isinstance(entity.environment, Environment):
        block = copy.copy(entity.environment)
        block.conda_file = conda_of(entity.environment, entity.base_path)
        kept.environment = block
    elif environment:
        kept.environment = environment
    return kept
