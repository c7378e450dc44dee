"""What a request brings: a body and a query that are checked.

``read_body`` and ``read_query`` are how every view reads; ``core.parsers`` and ``core.plain_text``
stand before them.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.request import Request

from controlplane.core.errors import Invalid
from controlplane.core.validation_messages import MOST_SHOWN, explained, shown

Kind = type[serializers.Serializer[Any]]
Path = tuple[str, ...]

MOST_NAMES: Final = 40  # of a hint that lists what is known


def read_query(kind: Kind, request: Request) -> dict[str, Any]:
    """The checked query string; its names are ``core.query_strings``'. Raises ValidationError."""
    return _valid(kind(data=request.query_params))


def flag(request: Request, name: str) -> bool:
    """``?name=true``. Raises Invalid for what is neither yes nor no: a guess might do harm."""
    text = request.query_params.get(name, "false")
    if (word := text.lower()) not in _FLAGS:
        raise Invalid(
            f"{name}: {text[:MOST_SHOWN]!r}, expected true or false.",
            field=name,
            hints=(f"`?{name}=true`, or leave it out.",),
        )
    return _FLAGS[word]


_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False}


def read_body(
    kind: Kind,
    request: Request,
    *,
    ignored: frozenset[str] = frozenset(),
    fixed: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The checked body. Raises ValidationError, and Invalid for a name that ``kind`` lacks.

    ``ignored``: names that the resource shows and nobody sets (``read_only``), so that what was
    read can be sent back. ``fixed``: names that may be there with just this value, as the path has
    it.
    """
    data = request.data
    form = kind()
    fixed = {name: value for name, value in (fixed or {}).items() if name not in form.fields}
    if isinstance(data, Mapping):
        _check_fixed(data, fixed)
        data = {k: v for k, v in data.items() if k not in fixed and k not in ignored}
    for path, known in strangers(form, data):
        raise _unknown(path, known)
    return _valid(kind(data=data))


def _valid(form: serializers.Serializer[Any]) -> dict[str, Any]:
    if not form.is_valid():
        raise explained(form)
    return dict(form.validated_data)


class Change(serializers.Serializer[Any]):
    """A body where null takes a setting away: it is read as what ``empty`` has for the name.

    Settings that are null themselves without a value have no need of it.
    """

    empty: ClassVar[Mapping[str, Any]] = {}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for name in self.empty:
            fields[name].allow_null = True
        return fields

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            gone = {name: deepcopy(value) for name, value in self.empty.items()}
            data = {
                name: gone[name] if value is None and name in gone else value
                for name, value in data.items()
            }
        return super().to_internal_value(data)


def read_only(shown: Kind, *settings: Kind) -> frozenset[str]:
    """What a resource shows as ``shown`` and none of ``settings`` takes."""
    taken: set[str] = set().union(*(kind().fields for kind in settings))
    return frozenset(shown().fields) - taken


def strangers(
    field: serializers.Field[Any, Any, Any, Any], data: Any, path: Path = ()
) -> Iterator[tuple[Path, list[str]]]:
    """The paths of names that ``field`` does not know, each with the names that it does."""
    if isinstance(field, serializers.Serializer) and isinstance(data, Mapping):
        for key, value in data.items():
            if key in field.fields:
                yield from strangers(field.fields[key], value, (*path, key))
            else:
                yield (*path, str(key)), list(field.fields)
    child = getattr(field, "child", None)
    if not isinstance(child, _CONTAINERS):
        return
    if isinstance(data, list):
        for index, value in enumerate(data):
            yield from strangers(child, value, (*path, str(index)))
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from strangers(child, value, (*path, str(key)))


_CONTAINERS = (
    serializers.BaseSerializer,
    serializers.ListField,
    serializers.DictField,
)


def _unknown(path: Path, known: list[str]) -> Invalid:
    place = ".".join(path)
    return Invalid(f"{place} is not known here.", field=place, hints=hint_about(path[-1], known))


def hint_about(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """What somebody may have meant who wrote ``name``, and what is known in its place."""
    names = sorted(known)
    listed = (
        f"Known here: {', '.join(names)}."
        if len(names) <= MOST_NAMES
        else "/api/v1/openapi.json lists the names that are known here."
    )
    close = difflib.get_close_matches(name, names, n=1)
    return (f"Did you mean `{close[0]}`?", listed) if close else (listed,)


def _check_fixed(data: Mapping[str, Any], fixed: Mapping[str, object]) -> None:
    for name, value in fixed.items():
        if name in data and data[name] != value:
            raise Invalid(
                f"{name}: {shown(data[name], (name,))} in the body, "
                f"expected {shown(value)} as in the path.",
                field=name,
                hints=(f"Leave `{name}` out, or send it as the path has it.",),
            )
