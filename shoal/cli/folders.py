"""The steps of ``shoal apply`` and ``shoal export``. Imported on use."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import yaml

from shoal.client.errors import Problem, ShoalError
from shoal.client.types import ModelVersion
from shoal.entities import Model, OnlineDeployment, OnlineEndpoint
from shoal.entities.base import Entity
from shoal.entities.loading import load_model, load_online_deployment, load_online_endpoint
from shoal.entities.model import model_reference
from shoal.sdk import MLClient
from shoal.sdk.shapes import OWN_ID

SUFFIXES = {".yml", ".yaml"}
# What an endpoint's file says and a running one shows otherwise, without a difference.
OWN = frozenset({"properties", "location", "kind"})
ENDPOINT_KEYS = frozenset({"auth_mode", "traffic", "mirror_traffic", "traffic_rules", "objectives"})


@dataclass(frozen=True)
class Change:
    """``action``: create, update or none; ``lines`` say what in particular; ``version`` is the
    registered one that has the content of the model that it names by a path, if there is one."""

    entity: Entity
    action: str
    lines: tuple[str, ...] = ()
    version: ModelVersion | None = None

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
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
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


def check(client: MLClient, changes: list[Change]) -> None:
    """Ask of every change all that can be asked before the first is made.

    Raises the first refusal, with its object.
    """
    endpoints = {
        change.entity.name
        for change in changes
        if change.action == "create" and isinstance(change.entity, OnlineEndpoint)
    }
    models = {
        change.entity.name
        for change in changes
        if change.action == "create" and isinstance(change.entity, Model)
    }
    made: dict[str | None, list[str]] = {}
    for change in changes:
        if isinstance(change.entity, OnlineDeployment):
            made.setdefault(change.entity.endpoint_name, []).append(str(change.entity.name))
    for change in changes:
        entity = change.entity
        try:
            if change.action == "none":
                continue
            if isinstance(entity, OnlineDeployment):
                new = entity.endpoint_name in endpoints
                client.online_deployments.check(entity, change.version, new_endpoint=new)
            elif isinstance(entity, OnlineEndpoint):
                client.online_endpoints.check(entity, made.get(entity.name, ()))
            elif isinstance(entity, Model):
                client.models.check(entity)
        except ShoalError as error:
            if isinstance(entity, OnlineDeployment) and _awaited(entity, error, models):
                continue
            error.title = f"{change.subject}: {error.title}"
            raise


def _awaited(deployment: OnlineDeployment, error: ShoalError, models: set[str | None]) -> bool:
    """Whether the model that there is not is one of those that the files bring."""
    reference = model_reference(str(deployment.model))
    missing = isinstance(error, Problem) and error.code == "ModelNotFound"
    return missing and reference is not None and reference.name in models


def perform(client: MLClient, changes: list[Change]) -> None:
    """Models first, also those that deployments bring: what their upload tells is told before
    anything serves them. Endpoints get their traffic last, when their deployments are there."""
    changes = [_registered(client, change) for change in changes]
    check(client, changes)  # once more, with every model known
    shares = []
    for change in changes:
        if change.action == "none":
            continue
        if isinstance(change.entity, OnlineDeployment):
            client.online_deployments.begin_create_or_update(change.entity).result()
        elif isinstance(change.entity, OnlineEndpoint):
            shares.append(change.entity)
            without = replace(change.entity, traffic={}, mirror_traffic={}, traffic_rules=None)
            client.online_endpoints.begin_create_or_update(without).result()
    for endpoint in shares:
        if endpoint.traffic or endpoint.mirror_traffic or endpoint.traffic_rules is not None:
            client.online_endpoints.set_traffic(
                str(endpoint.name),
                endpoint.traffic or None,
                endpoint.mirror_traffic or None,
                rules=endpoint.traffic_rules,
            ).result()


def _registered(client: MLClient, change: Change) -> Change:
    """The same with its model registered."""
    entity = change.entity
    if change.action == "none":
        return change
    if isinstance(entity, Model):
        client.models.register(entity)
        return replace(change, action="none")
    if isinstance(entity, OnlineDeployment):
        return replace(change, entity=client.online_deployments.register(entity))
    return change


def _brings_model(deployment: OnlineDeployment) -> bool:
    return isinstance(deployment.model, Model) and deployment.model.path is not None


def write_all(client: MLClient, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for endpoint in client.online_endpoints.list():
        (endpoint.properties or {}).pop(OWN_ID, None)
        written.append(_write(folder / f"{endpoint.name}.endpoint.yml", endpoint))
        for deployment in client.online_deployments.list(str(endpoint.name)):
            if (deployment.autoscale or {}).get("enabled"):  # it decides, also on zero
                deployment.instance_count = None
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
        if "endpoint" in schema or ENDPOINT_KEYS & set(values):
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
    version: ModelVersion | None = None
    if isinstance(entity, Model):
        version = client.models.known(entity)
    elif isinstance(entity, OnlineDeployment):
        version = client.online_deployments.known(entity)
    try:
        current, lines = _current(client, entity, version)
    except Problem as problem:
        if not problem.is_not_found:
            raise
        return Change(entity, "create", _lines({}, entity._to_dict()), version)
    if current is not None:
        given = {name: value for name, value in entity._to_dict().items() if name not in OWN}
        lines += _lines(current._to_dict(), given)
    return Change(entity, "update" if lines else "none", tuple(lines), version)


def _current(
    client: MLClient, entity: Entity, version: ModelVersion | None
) -> tuple[Entity | None, tuple[str, ...]]:
    """What there is of that name, and differences that its values do not show."""
    if isinstance(entity, OnlineEndpoint):
        return client.online_endpoints.get(str(entity.name)), ()
    if isinstance(entity, OnlineDeployment):
        current = client.online_deployments.get(str(entity.name), str(entity.endpoint_name))
        there = version and f"azureml:{version['model']}:{version['version']}" == current.model
        if entity.code_configuration is not None:  # compared by content, not by its text
            current.code_configuration = entity.code_configuration
            current.model, current.environment = entity.model, entity.environment
            what = "code_configuration: script, model or environment have other content"
            return current, () if there else (what,)
        if _brings_model(entity):
            current.model = entity.model
            path = cast(Model, entity.model).path
            return current, () if there else (f"model: {path} has other content",)
        return current, ()
    if version is None:
        raise Problem("no version has this content", status=404)
    return None, ()


def _lines(current: dict[str, Any], given: dict[str, Any], where: str = "") -> tuple[str, ...]:
    """One per value that differs; what the file does not say is no difference."""
    found: list[str] = []
    for name, value in given.items():
        path, before = f"{where}{name}", current.get(name)
        if name == "objectives":
            found += _listed(before or [], value, path)
        elif isinstance(value, dict):
            found += _lines(before if isinstance(before, dict) else {}, value, f"{path}.")
        elif value != before and str(value) != str(before):
            found.append(f"{path}: {'' if before is None else f'{before} → '}{value}")
    return tuple(found)


def _listed(
    current: list[dict[str, Any]], given: list[dict[str, Any]], where: str
) -> tuple[str, ...]:
    """The same of a list of things with names, which is the whole of it."""
    there, wanted = ({item["name"]: item for item in items} for items in (current, given))
    gone = tuple(f"{where}.{name}: removed" for name in there if name not in wanted)
    told = {name: {**dict.fromkeys(there.get(name, ())), **item} for name, item in wanted.items()}
    return (*gone, *_lines(there, told, f"{where}."))
