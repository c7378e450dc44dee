"""The steps of ``shoal apply`` and ``shoal export``. Imported on use."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import yaml

from shoal.client.errors import Problem, ShoalError
from shoal.entities import Model, OnlineDeployment, OnlineEndpoint
from shoal.entities.base import Entity
from shoal.entities.loading import load_model, load_online_deployment, load_online_endpoint
from shoal.sdk import MLClient
from shoal.sdk.shapes import OWN_ID

SUFFIXES = {".yml", ".yaml"}
# What an endpoint's file says and a running one shows otherwise, without a difference.
OWN = frozenset({"properties", "location", "kind"})


@dataclass(frozen=True)
class Change:
    """``action``: create, update or none; ``lines`` say what in particular."""

    entity: Entity
    action: str
    lines: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        if isinstance(self.entity, OnlineDeployment):
            return f"deployment {self.entity.endpoint_name}/{self.entity.name}"
        if isinstance(self.entity, OnlineEndpoint):
            return f"endpoint {self.entity.name}"
        version = getattr(self.entity, "version", None)
        return f"model {self.entity.name}{f':{version}' if version else ''}"

    def shown(self) -> dict[str, str]:
        return {"object": self.subject, "action": self.action, "change": "; ".join(self.lines)}


def loaded(paths: Iterable[Path]) -> list[Entity]:
    """Every object of the files: models first, then endpoints, then deployments."""
    found: list[Entity] = []
    for path in _files(paths):
        try:
            documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeError, yaml.YAMLError) as error:
            raise ShoalError(f"{path} cannot be read", str(error)) from error
        for values in documents:
            if isinstance(values, dict):
                found.append(_entity(values, path))
    order = (Model, OnlineEndpoint, OnlineDeployment)
    return sorted(
        found, key=lambda entity: [isinstance(entity, kind) for kind in order].index(True)
    )


def changes_of(client: MLClient, paths: Iterable[Path]) -> list[Change]:
    """What differs from the installation. Raises what loading raises, before anything is done."""
    return [_change(client, entity) for entity in loaded(paths)]


def perform(client: MLClient, changes: list[Change]) -> None:
    """Endpoints get their traffic last, when their deployments are there."""
    shares = []
    for change in changes:
        if change.action == "none":
            continue
        if isinstance(change.entity, OnlineDeployment):
            client.online_deployments.begin_create_or_update(change.entity).result()
        elif isinstance(change.entity, OnlineEndpoint):
            shares.append(change.entity)
            without = replace(change.entity, traffic={}, mirror_traffic={})
            client.online_endpoints.begin_create_or_update(without).result()
        elif isinstance(change.entity, Model):
            client.models.create_or_update(change.entity)
    for endpoint in shares:
        if endpoint.traffic or endpoint.mirror_traffic:
            client.online_endpoints.set_traffic(
                str(endpoint.name), endpoint.traffic or None, endpoint.mirror_traffic or None
            ).result()


def write_all(client: MLClient, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for endpoint in client.online_endpoints.list():
        (endpoint.properties or {}).pop(OWN_ID, None)
        written.append(_write(folder / f"{endpoint.name}.endpoint.yml", endpoint))
        for deployment in client.online_deployments.list(str(endpoint.name)):
            name = f"{endpoint.name}.{deployment.name}.deployment.yml"
            written.append(_write(folder / name, deployment))
    return written


def _write(path: Path, entity: Entity) -> Path:
    entity.dump(path)
    return path


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (item for item in sorted(path.rglob("*")) if item.suffix in SUFFIXES)
        else:
            yield path


def _entity(values: dict[str, Any], path: Path) -> Entity:
    schema = str(values.get("$schema", "")).lower()
    origin = str(path.resolve().parent)
    try:
        if "deployment" in schema or {"endpoint_name", "instance_count", "model"} & set(values):
            return load_online_deployment(values, relative_origin=origin)
        if "endpoint" in schema or {"auth_mode", "traffic", "mirror_traffic"} & set(values):
            return load_online_endpoint(values, relative_origin=origin)
        if "model" in schema or "path" in values:
            return load_model(values, relative_origin=origin)
    except ShoalError as error:
        error.title = f"{path}: {error.title}"
        raise
    raise ShoalError(
        f"{path} is neither endpoint, deployment nor model",
        f"its keys are {', '.join(map(str, values))}",
        ["Add a $schema line, as az ml's files have."],
    )


def _change(client: MLClient, entity: Entity) -> Change:
    try:
        current, lines = _current(client, entity)
    except Problem as problem:
        if not problem.is_not_found:
            raise
        return Change(entity, "create", _lines({}, entity._to_dict()))
    if current is not None:
        given = {name: value for name, value in entity._to_dict().items() if name not in OWN}
        lines += _lines(current._to_dict(), given)
    return Change(entity, "update" if lines else "none", tuple(lines))


def _current(client: MLClient, entity: Entity) -> tuple[Entity | None, tuple[str, ...]]:
    """What there is of that name, and differences that its values do not show."""
    if isinstance(entity, OnlineEndpoint):
        return client.online_endpoints.get(str(entity.name)), ()
    if isinstance(entity, OnlineDeployment):
        current = client.online_deployments.get(str(entity.name), str(entity.endpoint_name))
        model = entity.model
        if isinstance(model, Model) and model.path is not None:
            known = client.models.known(model)
            there = known and f"azureml:{known['model']}:{known['version']}" == current.model
            current.model = model  # compared by content, not by its text
            return current, () if there else (f"model: {model.path} has other content",)
        return current, ()
    known = client.models.known(cast(Model, entity))
    if known is None:
        raise Problem("no version has this content", status=404)
    return None, ()


def _lines(current: dict[str, Any], given: dict[str, Any], where: str = "") -> tuple[str, ...]:
    """One per value that differs; what the file does not say is no difference."""
    found: list[str] = []
    for name, value in given.items():
        path, before = f"{where}{name}", current.get(name)
        if isinstance(value, dict):
            found += _lines(before if isinstance(before, dict) else {}, value, f"{path}.")
        elif value != before and str(value) != str(before):
            found.append(f"{path}: {'' if before is None else f'{before} → '}{value}")
    return tuple(found)
