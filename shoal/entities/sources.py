"""What a YAML file says, as plain values, and the line of each key."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import IO, Any, Final

import yaml

from shoal.client.errors import ShoalError
from shoal.entities.base import Values
from shoal.entities.overrides import flat, laid_over

Overrides = Iterable[Mapping[str, Any]] | None
# Anchors can make of a few lines more than there is memory for.
MOST_VALUES: Final = 100_000


class SourceUnreadable(ShoalError):
    code = "BadArgument"


@dataclass(frozen=True, slots=True)
class Read:
    """``base``: what relative paths are relative to. ``lines`` are by the path of the key, as
    faults name it, and only of what stands in the file, of which it begins at ``begins``."""

    values: Any
    base: Path
    lines: Mapping[str, int]
    name: str = "given"
    begins: int = 1

    def place(self, where: str = "") -> str:
        """``rules.yml, line 3``"""
        return f"{self.name}, line {self.lines.get(where, self.begins)}"


Source = str | os.PathLike[str] | IO[str] | Mapping[str, Any] | Read


def read(
    source: Source, relative_origin: str | None = None, params_override: Overrides = None
) -> Read:
    """Keys and values, with the overrides laid over them. Raises SourceUnreadable."""
    return laid(read_any(source, relative_origin), source, params_override)


def laid(found: Read, source: object, params_override: Overrides) -> Read:
    """The same with the overrides laid over it. Raises SourceUnreadable where it has no keys."""
    values = {} if found.values is None else found.values
    if not isinstance(values, dict):
        raise SourceUnreadable(
            f"{named(source)} holds no keys", f"expected `key: value`, not {type(values).__name__}"
        )
    values = {str(key): value for key, value in values.items()}
    overrides = flat(params_override)
    lines = {
        path: line
        for path, line in found.lines.items()
        if not any(_covers(override, path) for override, _ in overrides)
    }
    return replace(found, values=laid_over(values, overrides), lines=lines)


def read_any(source: Source | Sequence[Values], relative_origin: str | None = None) -> Read:
    """Whatever the file holds, or what of it was read already. Raises SourceUnreadable."""
    if isinstance(source, Read):
        return source
    base, name = Path(relative_origin or ".").resolve(), named(source)
    lines: dict[str, int] = {}
    with _readable(name):
        if isinstance(source, str | os.PathLike):
            path = Path(source)
            base = base if relative_origin else path.resolve().parent
            values = _parsed(path.read_text(encoding="utf-8"), name, lines)
        elif isinstance(source, Mapping | Sequence):
            values = source
        else:
            values = _parsed(source.read(), name, lines)
        return Read(_plain(values, name, count()), base, lines, name)


def documents(path: Path) -> list[Read]:
    """Each document of a file, but for empty ones, as loaders take it. Raises SourceUnreadable."""
    base, name = path.resolve().parent, named(path)
    found: list[Read] = []
    with _readable(name):
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        try:
            while loader.check_node() and (node := loader.get_node()) is not None:
                lines: dict[str, int] = {}
                _note_lines(node, "", name, lines, set())
                values = _plain(loader.construct_document(node), name, count())
                if values is not None:
                    found.append(Read(values, base, lines, name, node.start_mark.line + 1))
        finally:
            loader.dispose()
    return found


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Raises SourceUnreadable for all that reading raises."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise SourceUnreadable(f"{name} cannot be read", str(error)) from error
    # why ValueError: of dates that there are not, and of numbers of thousands of digits
    except (yaml.YAMLError, ValueError) as error:
        raise SourceUnreadable(
            f"{name} is not YAML", str(error), ["Check indentation and quotes there."]
        ) from error
    except RecursionError as error:
        raise SourceUnreadable(
            f"{name} cannot be read", "it is nested too deeply, or within itself"
        ) from error


def named(source: object) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "name", "given"))


def _parsed(text: str, name: str, lines: dict[str, int]) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _note_lines(node, "", name, lines, set())
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _note_lines(
    node: yaml.Node, where: str, name: str, lines: dict[str, int], seen: set[yaml.Node]
) -> None:
    """Of what stands behind an anchor once. Raises SourceUnreadable for a key that stands twice."""
    if node in seen:
        return
    seen.add(node)
    if isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            lines[f"{where}[{place}]"] = item.start_mark.line + 1
            _note_lines(item, f"{where}[{place}]", name, lines, seen)
    elif isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue  # constructing it tells what is wrong
            path = f"{where}.{key.value}" if where else key.value
            line = key.start_mark.line + 1
            if key.value in first:
                raise SourceUnreadable(
                    f"{name} is not valid",
                    f"line {line}: {path} stands there twice, first in line {first[key.value]}",
                )
            first[key.value] = lines[path] = line
            _note_lines(item, path, name, lines, seen)


def _plain(value: Any, name: str, counted: Iterator[int]) -> Any:
    """A copy in which nothing is shared, and keys are those that JSON has."""
    if next(counted) >= MOST_VALUES:
        raise SourceUnreadable(
            f"{name} cannot be read", f"it has more than {MOST_VALUES:,} values, anchors spelt out"
        )
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str | int | float | None) else str(key): _plain(
                item, name, counted
            )
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_plain(item, name, counted) for item in value]
    if isinstance(value, str):
        value.encode()  # why: half of a pair of surrogates can be written, and not sent
    return value


def _covers(override: str, path: str) -> bool:
    """Whether the value at ``path`` comes from the override."""
    return path == override or path.startswith((f"{override}.", f"{override}["))
