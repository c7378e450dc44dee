"""What is traced, at start and as clients change it, and where traces go."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from worker_runtime.errors import Internal, InvalidArgument, Unsupported
from worker_runtime.observability.dialect import Dialect

# options of OpenTelemetry's batching, and what they are when nothing is said
BATCHING = (
    ("bsp_max_export_batch_size", "512"),
    ("bsp_schedule_delay", "5000"),
    ("bsp_max_queue_size", "2048"),
)
FIELDS = ("trace_level", "trace_rate", "trace_count", "log_frequency")
# why so odd: Triton reads signed numbers of 32 bits, "12x" as 12, and takes rates and frequencies
# for unsigned then; the bounds that it tells are those of what it shows.
_NUMBER = re.compile(r"\s*([+-]?)([0-9]+)")
_UINT32, _INT32 = 2**32 - 1, 2**31 - 1


class Mode(StrEnum):
    TRITON = "triton"
    OPENTELEMETRY = "opentelemetry"


class Level(StrEnum):
    TIMESTAMPS = "TIMESTAMPS"
    TENSORS = "TENSORS"


class TraceConfig(Struct, frozen=True):
    """No ``levels``: off. Every ``rate``-th request is traced, ``count`` of them (-1: no limit).

    ``log_frequency`` traces go into one file; 0: all into one, at exit. ``options`` are those of
    the mode as given (url, resource, bsp_*), in order; resource may come several times.
    """

    mode: Mode = Mode.TRITON
    levels: frozenset[Level] = frozenset()
    rate: int = 1000
    count: int = -1
    log_frequency: int = 0
    file: str = ""
    options: tuple[tuple[str, str], ...] = ()


class Changes(Struct, frozen=True):
    """``values`` are new values by field (a set of levels, or a number), ``clear`` falls back."""

    values: Mapping[str, Any]
    clear: frozenset[str]


def read_trace_changes(changes: Mapping[str, Any], dialect: Dialect) -> Changes:
    """Check what was asked for. Unknown names are passed over.

    JSON: null clears; ``trace_level`` is an array, the rest are texts. LISTS: an empty list
    clears. Raises Unsupported, InvalidArgument or Internal in Triton's words.
    """
    if "trace_file" in changes:
        raise Unsupported("trace file location can not be updated through network protocol")
    values: dict[str, Any] = {}
    clear = set()
    for name in FIELDS:
        if name not in changes:
            continue
        given = changes[name]
        if given is None or (dialect is Dialect.LISTS and not given):
            clear.add(name)
        elif name == "trace_level":
            levels = _levels(given)
            if levels is not None:
                values[name] = levels
        else:
            values[name] = _number(name, _text(name, given, dialect), dialect)
    return Changes(values, frozenset(clear))


def _levels(given: Any) -> frozenset[Level] | None:
    """None: nothing that is known was named, so nothing changes."""
    if not isinstance(given, (list, tuple)):
        raise Internal("attempt to access JSON non-array as array")
    found: set[Level] = set()
    for item in given:
        if not isinstance(item, str):
            raise Internal("attempt to access JSON non-string as string")
        if item == "OFF":
            if len(given) == 1:
                return frozenset()
            raise InvalidArgument("Expect only one trace level 'OFF' is specified")
        if item in set(Level):
            found.add(Level(item))
    return frozenset(found) if found else None


def _text(name: str, given: Any, dialect: Dialect) -> str:
    if dialect is Dialect.LISTS:
        if len(given) != 1:
            raise InvalidArgument(f"expect only 1 value for '{name}'")
        given = given[0]
    if not isinstance(given, str):
        raise Internal("attempt to access JSON non-string as string")
    return given


def _number(name: str, text: str, dialect: Dialect) -> int:
    found = _NUMBER.match(text)
    if found is None:
        raise InvalidArgument(f"Unable to parse '{name}', got: {text}")
    number = int(found[1] + found[2])
    counts = name == "trace_count"
    if not -_INT32 - 1 <= number <= _INT32:
        bounds = f"[ -1, {_INT32} ]" if counts else f"[ 0, {_UINT32} ]"
        raise _out_of_range(name, bounds, text)
    if not counts:
        return number & _UINT32
    if number < -1:
        space = "" if dialect is Dialect.JSON else " "
        raise InvalidArgument(f"Unable to parse '{name}'. Expecting value >= -1, got:{space}{text}")
    return number


def _out_of_range(name: str, bounds: str, text: str) -> InvalidArgument:
    return InvalidArgument(f"Unable to parse '{name}', value is out of range {bounds}, got: {text}")
