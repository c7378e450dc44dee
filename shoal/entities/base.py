"""What all entities share: made from values, turned into values, written to a file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, Self

import yaml

Values = dict[str, Any]


class Block:
    """A part of an entity. Fields without a value are left out of ``_to_dict``."""

    def _to_dict(self) -> Values:
        found: Values = {}
        for item in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, item.name)
            if item.name.startswith("_") or value is None:
                continue
            found[item.name] = plain(value)
        return found

    @classmethod
    def _of(cls, values: Any) -> Self | None:
        """From plain values; what is one already stays, None stays None."""
        if values is None or isinstance(values, cls):
            return values
        known = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in values.items() if name in known})


class Document(Block):
    """What a file says as a whole. ``notes``: which of its keys have no effect here, and why."""

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.base_path = Path()  # what relative paths are relative to
        self.place = ""  # file and line, as far as it was read from one

    def dump(self, dest: str | os.PathLike[str] | IO[str], **_: Any) -> None:
        """Write it as YAML that loads again."""
        if not isinstance(dest, str | os.PathLike):
            yaml.safe_dump(self._to_dict(), dest, sort_keys=False, allow_unicode=True)
            return
        with Path(dest).open("w", encoding="utf-8") as file:
            yaml.safe_dump(self._to_dict(), file, sort_keys=False, allow_unicode=True)

    def __str__(self) -> str:
        return str(yaml.safe_dump(self._to_dict(), sort_keys=False, allow_unicode=True))


@dataclass(kw_only=True)
class Entity(Document):
    """A thing with a name."""

    name: str | None = None
    description: str | None = None
    tags: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tags = dict(self.tags or {})
        self.properties = dict(self.properties or {})
        self.id: str | None = None


def plain(value: Any) -> Any:
    """Dictionaries, lists and plain values only."""
    if isinstance(value, Block):
        return value._to_dict()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
