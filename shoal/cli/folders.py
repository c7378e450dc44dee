"""The steps of ``shoal apply`` and ``shoal export``. Imported on use."""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from pathlib import Path
from typing import cast

from shoal.cli.changes import Change, differences, subject_of, told_of
from shoal.cli.folder_alerts import AlertChange, Alerts, Written, alerts_write
from shoal.client.errors import Problem, ShoalError
from shoal.client.types import ModelVersion
from shoal.entities import AlertRule, Channel, Model, OnlineDeployment, OnlineEndpoint, Silence
from shoal.entities.base import Document, Entity, Values
from shoal.entities.loading import (
    load_alert_rules,
    load_channel,
    load_model,
    load_online_deployment,
    load_online_endpoint,
    load_silence,
)
from shoal.entities.model import model_reference
from shoal.entities.sources import Read, documents
from shoal.sdk import MLClient
from shoal.sdk.shapes import OWN_ID

SUFFIXES = {".yml", ".yaml"}
# What an endpoint's file says and a running one shows otherwise, without a difference.
OWN = frozenset({"properties", "location", "kind"})
# Which loader takes what: by a word of its $schema line, else by keys that no other kind has.
KINDS: tuple[tuple[str, Set[str], Callable[..., Document | list[AlertRule]]], ...] = (
    ("deployment", {"endpoint_name", "instance_count", "model"}, load_online_deployment),
    (
        "endpoint",
        {"auth_mode", "traffic", "mirror_traffic", "traffic_rules", "objectives"},
        load_online_endpoint,
    ),
    ("silence", {"ends_at", "duration"}, load_silence),
    ("channel", {"url", "secret", "recipients", "severities", "projects"}, load_channel),
    ("rule", {"threshold", "thresholds", "for_s", "severity", "clear_s"}, load_alert_rules),
    ("model", {"path"}, load_model),
)
# As they are made: what is named before what names it.
ORDER = (Model, OnlineEndpoint, OnlineDeployment, Channel, AlertRule, Silence)


def loaded(paths: Iterable[Path]) -> list[Document]:
    """Every object of the files, in ``ORDER``. Raises ShoalError where one stands there twice."""
    found: list[Document] = []
    places: dict[str, str] = {}
    for path in _files(paths):
        for document in documents(path):
            for entity in _entities(document):
                subject = subject_of(entity)
                if isinstance(entity, Channel | AlertRule | Silence) and subject in places:
                    raise ShoalError(
                        f"{entity.place}: {subject} stands there twice",
                        f"first in {places[subject]}",
                    )
                places[subject] = entity.place
                found.append(entity)
    return sorted(
        found, key=lambda entity: [isinstance(entity, kind) for kind in ORDER].index(True)
    )


def changes_of(client: MLClient, paths: Iterable[Path]) -> list[Change]:
    """What differs from the installation. Raises what loading raises, before anything is done."""
    alerts = Alerts(client.client)
    changes: list[Change] = []
    for entity in loaded(paths):
        if isinstance(entity, Channel | AlertRule | Silence):
            with told_of(entity):
                changes.append(alerts.change_of(entity))
        else:
            changes.append(_change(client, cast(Entity, entity)))
    return changes


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
    alerts = Alerts(client.client)
    made: dict[str | None, list[str]] = {}
    for change in changes:
        if isinstance(change.entity, OnlineDeployment):
            made.setdefault(change.entity.endpoint_name, []).append(str(change.entity.name))
    for change in changes:
        entity = change.entity
        if change.action == "none":
            continue
        with told_of(entity):
            if isinstance(change, AlertChange):
                alerts.check(change, endpoints)
            elif isinstance(entity, OnlineDeployment):
                new = entity.endpoint_name in endpoints
                try:
                    client.online_deployments.check(entity, change.version, new_endpoint=new)
                except ShoalError as error:
                    if not _awaited(entity, error, models):
                        raise
            elif isinstance(entity, OnlineEndpoint):
                client.online_endpoints.check(entity, made.get(entity.name, ()))
            elif isinstance(entity, Model):
                client.models.check(entity)


def _awaited(deployment: OnlineDeployment, error: ShoalError, models: set[str | None]) -> bool:
    """Whether the model that there is not is one of those that the files bring."""
    reference = model_reference(str(deployment.model))
    missing = isinstance(error, Problem) and error.code == "ModelNotFound"
    return missing and reference is not None and reference.name in models


def perform(client: MLClient, changes: list[Change]) -> dict[str, str]:
    """Models first, also those that deployments bring: what their upload tells is told before
    anything serves them. Endpoints get their traffic last, when their deployments are there; then
    come channels, rules and silences. Gives secrets of channels that were made for them, by name:
    they are shown this once."""
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
    alerts, secrets = Alerts(client.client), dict[str, str]()
    for change in changes:
        if isinstance(change, AlertChange) and change.action != "none":
            with told_of(change.entity):
                secrets |= alerts.make(change)
    return secrets


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


def write_all(client: MLClient, folder: Path) -> Written:
    folder.mkdir(parents=True, exist_ok=True)
    written = Written()
    endpoints = list(client.online_endpoints.list())
    for endpoint in endpoints:
        (endpoint.properties or {}).pop(OWN_ID, None)
        written.add(folder / f"{endpoint.name}.endpoint.yml", endpoint)
        for deployment in client.online_deployments.list(str(endpoint.name)):
            # why not: a policy decides, also on zero; and none is made with zero, which is paused
            if (deployment.autoscale or {}).get("enabled") or not deployment.instance_count:
                deployment.instance_count = None
            name = f"{endpoint.name}.{deployment.name}.deployment.yml"
            written.add(folder / name, deployment)
    alerts_write(client.client, folder, {str(endpoint.name) for endpoint in endpoints}, written)
    return written


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (item for item in sorted(path.rglob("*")) if item.suffix in SUFFIXES)
        else:
            yield path


def _entities(document: Read) -> list[Document]:
    values = document.values
    load = load_alert_rules if isinstance(values, list) else _loader(document)
    made = load(document)
    return list(made) if isinstance(made, list) else [made]


def _loader(document: Read) -> Callable[..., Document | list[AlertRule]]:
    """Raises ShoalError for what is of no kind."""
    values: Values = document.values if isinstance(document.values, dict) else {}
    schema = str(values.get("$schema", "")).lower()
    for word, _, load in KINDS:
        if word in schema:
            return load
    for _, keys, load in KINDS:
        if keys & set(map(str, values)):
            return load
    *kinds, last = (word for word, _, _ in KINDS)
    keys_told = ", ".join(map(str, values))
    raise ShoalError(
        f"{document.place()}: expected {', '.join(kinds)} or {last}, and it is none of them",
        f"its keys are {keys_told}" if values else f"it is {document.values!r:.60}, without keys",
        ["Add a $schema line, as az ml's files have; of rules: `$schema: rule`."],
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
        return Change(entity, "create", differences({}, entity._to_dict()), version)
    if current is not None:
        given = {name: value for name, value in entity._to_dict().items() if name not in OWN}
        lines += differences(current._to_dict(), given)
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
