"""Captured records to sketches, one for each feature.

A tensor of rows with few columns is a feature for each column; any other tensor is one as a whole.
Whoever sent the records may have written anything into them.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, cast

from controlplane.drift.sketch import LARGEST, Kind, Sketch, Value, merged, sketch_of
from wire.own_requests import OWN_REQUESTS

MOST_FEATURES: Final = 128
MOST_COLUMNS: Final = 64  # of a tensor of rows
MOST_OF_ONE: Final = 64  # values of one tensor that are no rows: they hang together
NAME_CHARS: Final = 255
MOST_AXES: Final = 64
AXES: Final = 2  # of rows with columns
COLLECTIONS: Final = {"inputs": "model_inputs", "outputs": "model_outputs"}

Key = str  # "model_inputs/x[3]"


class Malformed(ValueError):
    """A line that is no record; the text says which, and what was expected."""


@dataclass(frozen=True, slots=True)
class Summary:
    """``untold`` features are those beyond the most that are kept."""

    records: int
    sketches: Mapping[Key, Sketch]
    untold: int = 0


@dataclass(slots=True)
class _Feature:
    kind: Kind
    values: list[Value | None] = field(default_factory=list)
    shapes: Counter[str] = field(default_factory=Counter)
    rows: int = 0


def summarised(lines: Iterable[bytes], rng: Random) -> Summary:
    """Of what clients sent, and not of what Shoal asked itself. Raises Malformed."""
    features: dict[Key, _Feature] = {}
    untold: set[Key] = set()
    records = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _record(line, number)
        if str(record.get("id")) in OWN_REQUESTS:
            continue
        records += 1
        for key, kind, values, shape, rows in _read(record, number, rng):
            known = features.get(key)
            if known is None or known.kind != kind:
                if known is None and len(features) >= MOST_FEATURES:
                    untold.add(key)
                    continue
                known = features[key] = _Feature(kind)
            known.values += values
            known.shapes[shape] += 1
            known.rows += rows
    sketches = {
        key: sketch_of(one.kind, one.values, rows=one.rows, shapes=one.shapes, rng=rng)
        for key, one in features.items()
    }
    return Summary(records, sketches, len(untold))


def merged_summaries(summaries: Iterable[Summary]) -> Summary:
    """In the order of time."""
    records = untold = 0
    found: dict[Key, list[Sketch]] = {}
    for one in summaries:
        records += one.records
        untold = max(untold, one.untold)
        for key, sketch in one.sketches.items():
            if key in found or len(found) < MOST_FEATURES:
                found.setdefault(key, []).append(sketch)
    return Summary(records, {key: merged(sketches) for key, sketches in found.items()}, untold)


Found = tuple[Key, Kind, list[Value | None], str, int]


def _record(line: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"line {number} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise Malformed(f"line {number}: expected an object, got {type(record).__name__}")
    return record


def _read(record: dict[str, Any], number: int, rng: Random) -> Iterator[Found]:
    for name, collection in COLLECTIONS.items():
        tensors = record.get(name, [])
        if not isinstance(tensors, list):
            raise Malformed(f"line {number}: {name}: expected a list of tensors")
        for tensor in tensors:
            yield from _tensor(tensor, collection, f"line {number}: {name}", rng)


def _tensor(tensor: Any, collection: str, where: str, rng: Random) -> Iterator[Found]:
    if not isinstance(tensor, dict):
        raise Malformed(f"{where}: expected an object for each tensor")
    name, data, shape = tensor.get("name"), tensor.get("data"), tensor.get("shape")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS or _keepable(name) != name:
        raise Malformed(f"{where}: name: expected a text of 1 to {NAME_CHARS} characters")
    if "omitted" in tensor:
        return
    if (
        not isinstance(shape, list)
        or len(shape) > MOST_AXES
        or not all(_is_length(length) for length in shape)
    ):
        raise Malformed(
            f"{where}: {name}.shape: expected a list of whole numbers, {MOST_AXES} at most"
        )
    if not isinstance(data, list) or len(data) != math.prod(shape):
        raise Malformed(f"{where}: {name}.data: expected as many values as its shape has")
    kind: Kind = "text" if tensor.get("datatype") == "BYTES" else "number"
    values = [_value(value, kind, f"{where}: {name}.data") for value in data]
    told = "x".join(map(str, shape)) or "scalar"
    if len(shape) == AXES and 0 < shape[1] <= MOST_COLUMNS:
        columns = shape[1]
        for at in range(columns):
            key = f"{collection}/{name}" + (f"[{at}]" if columns > 1 else "")
            yield key, kind, values[at::columns], told, shape[0]
        return
    if len(values) > MOST_OF_ONE:
        values = rng.sample(values, MOST_OF_ONE)
    yield f"{collection}/{name}", kind, values, told, 1


def _keepable(text: str) -> str:
    """Without what no database keeps: U+0000, and halves of pairs that JSON can spell."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def _is_length(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**31


def _value(value: Any, kind: Kind, where: str) -> Value | None:
    if value is None:
        return None
    if kind == "text":
        if not isinstance(value, str):
            raise Malformed(f"{where}: expected texts or null, got {type(value).__name__}")
        return _keepable(value)
    if not isinstance(value, int | float):
        raise Malformed(f"{where}: expected numbers or null, got {type(value).__name__}")
    return max(-LARGEST, min(LARGEST, cast(float, value))) if value == value else None
