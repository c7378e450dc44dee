"""What ``shoal apply`` would change: one object each, and how values differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shoal.client.errors import ShoalError
from shoal.client.types import ModelVersion
from shoal.entities import AlertRule, Channel, OnlineDeployment, OnlineEndpoint, Silence
from shoal.entities.base import Document


@dataclass(frozen=True)
class Change:
    """``action``: create, update or none; ``lines`` say what in particular; ``version`` is the
    registered one that has the content of the model that it names by a path, if there is one."""

    entity: Document
    action: str
    lines: tuple[str, ...] = ()
    version: ModelVersion | None = None

    @property
    def subject(self) -> str:
        return subject_of(self.entity)

    def shown(self) -> dict[str, str]:
        return {"object": self.subject, "action": self.action, "change": "; ".join(self.lines)}


def subject_of(entity: Document) -> str:
    """What it is called in tables and refusals; two that are called so are the same."""
    if isinstance(entity, OnlineDeployment):
        return f"deployment {entity.endpoint_name}/{entity.name}"
    if isinstance(entity, Silence):
        inside = f"in {entity.project}" if entity.project else ""
        about = " ".join(filter(None, (entity.subject, entity.rule, inside)))
        return f"silence of {about or 'everything'} ({entity.reason})"
    kinds = {OnlineEndpoint: "endpoint", Channel: "channel", AlertRule: "rule"}
    kind = next((name for one, name in kinds.items() if isinstance(entity, one)), "model")
    version = getattr(entity, "version", None)
    return f"{kind} {getattr(entity, 'name', None)}{f':{version}' if version else ''}"


@contextmanager
def told_of(entity: Document) -> Iterator[None]:
    """What is refused inside is told with the object that it is about, and where that stands."""
    try:
        yield
    except ShoalError as error:
        error.title = f"{entity.place}: {subject_of(entity)}: {error.title}"
        raise


def differences(current: dict[str, Any], given: dict[str, Any], where: str = "") -> tuple[str, ...]:
    """One per value that differs; what the file does not say is no difference."""
    found: list[str] = []
    for name, value in given.items():
        path, before = f"{where}{name}", current.get(name)
        if name == "objectives":
            found += _listed(before or [], value, path)
        elif isinstance(value, dict):
            found += differences(before if isinstance(before, dict) else {}, value, f"{path}.")
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
    return (*gone, *differences(there, told, f"{where}."))
