"""From YAML to entities. Order: read, lay overrides over it, then check."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from shoal.client.names import MAX_LENGTH, MIN_LENGTH, from_text, is_valid
from shoal.entities import schemas
from shoal.entities.alerting import AlertRule, Channel, Silence, span
from shoal.entities.base import Document, Values
from shoal.entities.deployment import (
    KubernetesOnlineDeployment,
    ManagedOnlineDeployment,
    OnlineDeployment,
)
from shoal.entities.endpoint import (
    KubernetesOnlineEndpoint,
    ManagedOnlineEndpoint,
    OnlineEndpoint,
)
from shoal.entities.errors import EntityInvalid, Fault
from shoal.entities.keys import Table, Walk, block, check, listing
from shoal.entities.model import REGISTRY_PREFIX, Model, model_reference
from shoal.entities.overrides import flat
from shoal.entities.rollout import Rollout
from shoal.entities.settings import Environment
from shoal.entities.sources import Overrides, Read, Source, laid, named, read, read_any

NAME_RULE: Final = f"{MIN_LENGTH} to {MAX_LENGTH} letters, digits and hyphens, a letter first"
# no entity is made of these
SHOWN: Final = schemas.SHOWN_OF_ENDPOINT.keys() | schemas.SHOWN_OF_MODEL.keys()
REMOTE = re.compile(r"[a-z][a-z0-9+.-]+:")
EntityT = TypeVar("EntityT", bound=Document)


def load_online_endpoint(
    source: Source,
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> OnlineEndpoint:
    """Raises SourceUnreadable and EntityInvalid."""
    found = read(source, relative_origin, params_override)
    cleaned, walk = _checked(found.values, schemas.ENDPOINT)
    _check_name(cleaned.get("name"), "name", walk)
    _check_objectives(cleaned.get("objectives") or [], walk)
    kubernetes = (
        "compute" in cleaned or "kubernetes" in str(found.values.get("$schema", "")).lower()
    )
    kind = KubernetesOnlineEndpoint if kubernetes else ManagedOnlineEndpoint
    return _made(kind, cleaned, walk, found, _titled("Endpoint", source))


def load_online_deployment(
    source: Source,
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> OnlineDeployment:
    """Raises SourceUnreadable and EntityInvalid."""
    found = read(source, relative_origin, params_override)
    cleaned, walk = _checked(found.values, schemas.DEPLOYMENT)
    # why not the rule: Azure takes more, and what is loaded may be given another name
    if cleaned.get("name") is None:
        _check_name(None, "name", walk)
    _check_name(cleaned.get("endpoint_name"), "endpoint_name", walk)
    _check_model(cleaned.get("model"), walk)
    if isinstance(cleaned.get("model"), dict):
        cleaned["model"] = _model(cleaned["model"], found.base)
    kubernetes = cleaned.get("type") == "kubernetes"
    kind = KubernetesOnlineDeployment if kubernetes else ManagedOnlineDeployment
    return _made(kind, cleaned, walk, found, _titled("Deployment", source))


def load_model(
    source: Source,
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> Model:
    """Raises SourceUnreadable and EntityInvalid."""
    found = read(source, relative_origin, params_override)
    cleaned, walk = _checked(found.values, schemas.MODEL)
    if "path" not in cleaned:
        walk.fault("path", "is missing: the file, folder or archive to register")
    if cleaned.get("path"):
        cleaned["path"] = resolved(str(cleaned["path"]), found.base)
    return _made(Model, cleaned, walk, found, _titled("Model", source))


def load_environment(
    source: Source,
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> Environment:
    """Raises SourceUnreadable and EntityInvalid."""
    found = read(source, relative_origin, params_override)
    cleaned, walk = _checked(found.values, schemas.ENVIRONMENT)
    if not cleaned.get("name"):
        walk.fault("name", "is missing: what the environment is called")
    return _made(Environment, cleaned, walk, found, _titled("Environment", source))


def load_rollout(
    source: Source,
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> Rollout:
    """Also what ``show`` printed: its stages are the steps. Raises SourceUnreadable and
    EntityInvalid."""
    found = read(source, relative_origin, params_override)
    cleaned, walk = _checked(found.values, schemas.ROLLOUT)
    stages = cleaned.pop("stages", None)
    if stages and "steps" not in cleaned:
        cleaned["steps"] = [
            {name: value for name, value in stage.items() if name in schemas.STEP}
            for stage in stages
            if not stage.get("mirror")
        ]
    for name in ("endpoint", "deployment"):
        if not cleaned.get(name):
            walk.fault(name, "is missing", f"Write it into the file, or name {name.upper()}.")
    what = _titled("Rollout", source)
    return _made(Rollout, cleaned, walk, found, what, schemas.SHOWN_OF_ROLLOUT)


def load_silence(
    source: Source,
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> Silence:
    """Raises SourceUnreadable and EntityInvalid."""
    found = read(source, relative_origin, params_override)
    cleaned, walk = _checked(found.values, schemas.SILENCE)
    if not cleaned.get("reason"):
        walk.fault("reason", "is missing: for those who wonder")
    if ("ends_at" in cleaned) == ("duration" in cleaned):
        walk.fault("ends_at", "expected one of ends_at and duration")
    elif "duration" in cleaned and span(cleaned["duration"]) is None:
        walk.fault("duration", f"{cleaned['duration']!r:.40}, expected 30m, 2h or 3d")
    what = _titled("Silence", source)
    return _made(Silence, cleaned, walk, found, what, schemas.SHOWN_OF_SILENCE)


def load_alert_rules(
    source: Source | Sequence[Values],
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> list[AlertRule]:
    """One rule, or a list of them as ``shoal alert rules`` prints it; overrides are for one.

    Raises SourceUnreadable and EntityInvalid."""
    found = read_any(source, relative_origin)
    what = _titled("Rules", source)
    walk = Walk()
    many = isinstance(found.values, list)
    if many:
        if flat(params_override):
            walk.fault("the file", "expected one rule, as name and options are for one, not a list")
        if not found.values:
            walk.fault("the file", "expected a rule at least, not an empty list")
        values = listing(block(schemas.ALERT_RULE))(found.values, "", walk)
    else:
        found = laid(found, source, params_override)
        values = [check(found.values, schemas.ALERT_RULE, "", walk)]
    seen: set[str] = set()
    for place, rule in enumerate(values):
        where, name = f"[{place}].name" if many else "name", rule.get("name")
        if not name:
            walk.fault(where, "is missing", "Write it into the file, or name it in the command.")
            continue
        if name in seen:
            walk.fault(where, f"{name!r:.60} stands there twice")
        seen.add(name)
        _own_thresholds_checked(rule, f"[{place}]." if many else "", walk)
    _refuse(walk, found, what)
    rules = [
        _made(AlertRule, rule, walk, found, what, schemas.SHOWN_OF_ALERT_RULE) for rule in values
    ]
    for place, made in enumerate(rules if many else ()):
        made.place = found.place(f"[{place}]")
    return rules


def _own_thresholds_checked(rule: Values, where: str, walk: Walk) -> None:
    seen: set[str] = set()
    for place, one in enumerate(rule.get("thresholds", ())):
        at, about = f"{where}thresholds[{place}].about", one.get("about")
        if about is None:
            walk.fault(at, "is missing")
        elif about in seen:
            walk.fault(at, f"{about!r:.60} stands there twice")
        seen.add(about)


def load_channel(
    source: Source,
    *,
    relative_origin: str | None = None,
    params_override: Overrides = None,
    **_: Any,
) -> Channel:
    """Raises SourceUnreadable and EntityInvalid, neither of which has what is secret."""
    found = read(source, relative_origin, params_override)
    cleaned, walk = _checked(found.values, schemas.CHANNEL)
    if not cleaned.get("name"):
        walk.fault("name", "is missing", "Write it into the file, or name it in the command.")
    what = _titled("Channel", source)
    return _made(Channel, cleaned, walk, found, what, schemas.SHOWN_OF_CHANNEL)


def resolved(path: str, base: Path) -> str:
    """Absolute, unless it names another place (https:, s3:, azureml:)."""
    if path.startswith("file:"):
        path = re.sub(r"^file:(//)?", "", path)
    if REMOTE.match(path):
        return path
    return str((base / path).resolve())


def _checked(values: Values, table: Table) -> tuple[Values, Walk]:
    walk = Walk()
    return check(values, table, "", walk), walk


def _made(
    kind: Callable[..., EntityT],
    cleaned: Values,
    walk: Walk,
    found: Read,
    what: str,
    shown: Collection[str] = SHOWN,
) -> EntityT:
    _refuse(walk, found, what)
    arguments = {
        name: value
        for name, value in cleaned.items()
        if name not in shown and not name.startswith("$")
    }
    entity = kind(**arguments)
    entity.notes = walk.notes
    entity.base_path = found.base
    entity.place = found.place()
    return entity


def _refuse(walk: Walk, found: Read, what: str) -> None:
    """Raises EntityInvalid where there are faults."""
    if walk.faults:
        faults = [replace(fault, line=found.lines.get(fault.where)) for fault in _once(walk.faults)]
        raise EntityInvalid(what, faults)


def _once(faults: Sequence[Fault]) -> list[Fault]:
    return list(dict.fromkeys(faults))


def _model(values: Values, base: Path) -> Model:
    values = {name: value for name, value in values.items() if name not in SHOWN}
    values.pop("$schema", None)
    if values.get("path"):
        values["path"] = resolved(str(values["path"]), base)
    return Model(**values)


def _check_name(name: object, where: str, walk: Walk) -> None:
    if name is None:
        option = "--endpoint-name" if where == "endpoint_name" else "--name"
        walk.fault(where, "is missing", f"Write it into the file, or give {option}.")
    elif fault := name_fault(str(name), where):
        walk.faults.append(fault)


def name_fault(name: str, where: str) -> Fault | None:
    """Why endpoints and deployments cannot be called so; None when they can."""
    if is_valid(name):
        return None
    hint = f"{where}: for instance {from_text(name)}"
    return Fault(where, f"{name!r} cannot be a name: {NAME_RULE}", hint)


def _check_objectives(objectives: Sequence[Values], walk: Walk) -> None:
    for place, objective in enumerate(objectives):
        for field in ("name", "kind", "target_percent"):
            if field not in objective:
                walk.fault(f"objectives[{place}].{field}", "is missing")


def _check_model(model: object, walk: Walk) -> None:
    """It may be given later, as in Azure: who deploys asks for it."""
    if isinstance(model, str):
        if model.startswith(REGISTRY_PREFIX):
            walk.fault("model", "models of Azure registries cannot be reached from here",
                       "Download it, and register it with `shoal model create`.")  # fmt: skip
        elif model_reference(model) is None:
            walk.fault("model", f"{model!r} refers to no model",
                       "azureml:<name>:<version> or azureml:<name>@latest; to register files first:"
                       " {name: <name>, path: <file or folder>}")  # fmt: skip
    elif isinstance(model, dict) and not (model.get("path") or model.get("name")):
        walk.fault("model.path", "is missing: the file, folder or archive to register")


def _titled(kind: str, source: object) -> str:
    """What a refusal is about: a file, or values that came without one."""
    if isinstance(source, Mapping | list):
        return f"The {kind.lower()}"
    return f"{kind} file {named(source)}"
