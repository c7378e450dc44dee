"""MLflow's JSON and CSV to tensors of a model that knows neither: what was asked, in arrays.

The keys are those of MLflow's scoring server (``dataframe_split``, ``dataframe_records``,
``instances``, ``inputs``) and Azure's ``input_data``. Tables go to the model as MLflow gives them
to a graph of ONNX: as one matrix to the only input, else each column to the input of its name.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.nested_json import (
    Array,
    Pieces,
    converted,
    decoded,
    joined,
    nested_array,
    whole,
)
from worker_runtime.protocols.http.slices import Steps
from worker_runtime.protocols.http.tensors import SLICE_ELEMENTS
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import element_count

CSV = "text/csv"
AZURES = "input_data"
_WORDS = (AZURES, "dataframe_split", "dataframe_records", "instances", "inputs")
_FIRST = 4096  # bytes in which the key is looked for
# KServe's own ``inputs`` are objects in a list.
_KEY = re.compile(
    rb'"(?:input_data|dataframe_split|dataframe_records|instances)"\s*:'
    rb'|"inputs"\s*:\s*(?:\{|\[\s*[^\s{\]])'
)


class Asked(msgspec.Struct):
    """``tensors`` by name, in the model's order; of a ``table`` each row is one of the answer."""

    word: str
    table: bool
    tensors: dict[str, Array]


class _Document(msgspec.Struct):
    input_data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    dataframe_split: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    dataframe_records: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    instances: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    inputs: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    params: dict[str, Any] | None = None


class _Split(msgspec.Struct):
    data: msgspec.Raw
    columns: list[str] | None = None
    index: Any = None


def is_invocation(content_type: str, body: Any) -> bool:
    """Whether this is for ``asked``: else it is KServe's."""
    if content_type.partition(";")[0].strip().lower() == CSV:
        return True
    return _KEY.search(bytes(body[:_FIRST])) is not None


def asked(signature: Signature, content_type: str, body: bytes) -> Steps[Asked]:
    """The tensors that ``body`` says. Raises InvalidArgument."""
    if content_type.partition(";")[0].strip().lower() == CSV:
        return Asked("csv", True, (yield from _of_csv(signature, body)))
    document = decoded(body, _Document)
    given = {
        word: value for word in _WORDS if isinstance(value := getattr(document, word), msgspec.Raw)
    }
    if len(given) != 1:
        said = ", ".join(given) or "none"
        raise InvalidArgument(f"expected one of {', '.join(_WORDS)}, got {said}")
    if document.params:
        raise InvalidArgument(f"params: model '{signature.model}' takes none")
    ((word, value),) = given.items()
    raw = bytes(value)
    yield None
    kind = _kind(word, raw)
    table = word not in ("instances", "inputs")
    if kind == "split":
        tensors = yield from _of_split(signature, word, decoded(raw, _Split, word))
    elif kind == "records":
        tensors = yield from _of_records(signature, word, raw, table=table)
    elif kind == "named":
        tensors = yield from _of_names(signature, word, decoded(raw, dict[str, msgspec.Raw], word))
        table = False
    else:
        spec = _only(signature, word)
        tensors = {spec.name: (yield from nested_array(raw, spec))}
    return Asked(word, table, tensors)


_Kind = Literal["split", "records", "named", "array"]


def _kind(word: str, raw: bytes) -> _Kind:
    start = raw[:64].translate(None, b" \t\r\n")
    if word == "dataframe_split":
        return "split"
    if word == "dataframe_records":
        return "records"
    if start.startswith(b"{"):
        keys = decoded(raw, dict[str, msgspec.Raw], word)
        return "split" if word == AZURES and "data" in keys else "named"
    return "records" if start.startswith(b"[{") else "array"


# --- what stands where ---------------------------------------------------------------------------


class _Table:
    """Columns that come piece by piece. ``alone``: all are of the only input, as a matrix."""

    def __init__(self, signature: Signature, columns: Sequence[str], *, alone: bool) -> None:
        inputs = _inputs(signature)
        self._spec = inputs[0] if alone else None
        self._specs = {spec.name: spec for spec in inputs}
        if not alone:
            _same_names(list(self._specs), columns)
        self._parts: dict[str, list[Array]] = {name: [] for name in columns}

    def spec(self, column: str) -> TensorSpec:
        return self._spec or self._specs[column]

    def add(self, column: str, values: list[Any]) -> None:
        self._parts[column].append(converted(values, self.spec(column)))

    def tensors(self) -> dict[str, Array]:
        found = {name: whole(parts, self.spec(name)) for name, parts in self._parts.items()}
        if self._spec is None:
            return {name: found[name] for name in self._specs}
        columns = list(found.values())
        if len(columns) != 1 and any(column.ndim != 1 for column in columns):
            text = f"'{self._spec.name}' is the only input: expected columns of single values"
            raise InvalidArgument(text)
        if len(columns) == 1:
            return {self._spec.name: columns[0]}
        empty = np.empty((0, 0), self._spec.datatype.dtype)
        return {self._spec.name: np.stack(columns, axis=1) if columns else empty}


def _of_split(signature: Signature, word: str, split: _Split) -> Steps[dict[str, Array]]:
    inputs, raw = _inputs(signature), bytes(split.data)
    if len(inputs) == 1:
        return {inputs[0].name: (yield from nested_array(raw, inputs[0]))}
    if split.columns is None:
        raise InvalidArgument(f"{word}: expected columns, for the model has {len(inputs)} inputs")
    table = _Table(signature, split.columns, alone=False)
    pieces = Pieces(raw, word)
    while rows := pieces.next():
        found = decoded(joined(rows), list[list[Any]], word)
        for row in found:
            if len(row) != len(split.columns):
                count = len(split.columns)
                raise InvalidArgument(f"{word}: a row has {len(row)} values, expected {count}")
        for name, values in zip(split.columns, zip(*found, strict=True), strict=True):
            table.add(name, list(values))
        yield None
    return table.tensors()


def _of_records(
    signature: Signature, word: str, raw: bytes, *, table: bool
) -> Steps[dict[str, Array]]:
    """Rows that name their columns: the first row's, which all must have."""
    columns: _Table | None = None
    names: list[str] = []
    count = 0
    pieces = Pieces(raw, word)
    while rows := pieces.next():
        found = decoded(joined(rows), list[dict[str, Any]], word)
        if columns is None:
            names = list(found[0])
            columns = _Table(signature, names, alone=table and len(_inputs(signature)) == 1)
        for number, row in enumerate(found, count):
            if row.keys() != set(names):
                odd = ", ".join(sorted(row.keys() ^ set(names)))
                raise InvalidArgument(f"{word}: row {number} and row 0 differ in {odd}")
        count += len(found)
        for name in names:
            columns.add(name, [row[name] for row in found])
        yield None
    if columns is None:
        raise InvalidArgument(f"{word}: expected one row at least")
    return columns.tensors()


def _of_names(
    signature: Signature, word: str, named: Mapping[str, msgspec.Raw]
) -> Steps[dict[str, Array]]:
    specs = {spec.name: spec for spec in signature.inputs}
    needed = [spec.name for spec in signature.inputs if not spec.optional or spec.name in named]
    _same_names(needed, list(named), word)
    found = {}
    for name in needed:
        found[name] = yield from nested_array(bytes(named[name]), specs[name])
    return found


def _of_csv(signature: Signature, body: bytes) -> Steps[dict[str, Array]]:
    """Columns by the first line; what looks like a number is one where the model takes numbers."""
    try:
        rows = csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True)
        columns = next(rows, [])
        if len(set(columns)) < len(columns) or not columns:
            raise InvalidArgument("CSV: expected a first line with different names of columns")
        table = _Table(signature, columns, alone=len(_inputs(signature)) == 1)
        readers = [
            str if table.spec(name).datatype.name == "BYTES" else _number for name in columns
        ]
        while piece := list(islice(rows, max(1, SLICE_ELEMENTS // len(columns)))):
            for row in piece:
                if len(row) != len(columns):
                    count = len(columns)
                    raise InvalidArgument(f"CSV: a line has {len(row)} values, expected {count}")
            for name, reader, cells in zip(columns, readers, zip(*piece, strict=True), strict=True):
                table.add(name, [reader(cell) for cell in cells])
            yield None
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"CSV is no UTF-8: {error}") from None
    except csv.Error as error:
        raise InvalidArgument(f"CSV: {error}") from None
    return table.tensors()


def _inputs(signature: Signature) -> list[TensorSpec]:
    """Those that a request needs."""
    return [spec for spec in signature.inputs if not spec.optional]


def _only(signature: Signature, word: str) -> TensorSpec:
    inputs = _inputs(signature)
    if len(inputs) != 1:
        names = ", ".join(spec.name for spec in inputs)
        raise InvalidArgument(f"{word}: expected arrays by name, for the model takes {names}")
    return inputs[0]


def _same_names(expected: Sequence[str], given: Sequence[str], word: str = "") -> None:
    missing = [name for name in expected if name not in given]
    unknown = [name for name in given if name not in expected]
    if missing or unknown:
        what = [f"{name} is missing" for name in missing]
        what += [f"{name} is no input of the model" for name in unknown]
        start = f"{word}: " if word else ""
        raise InvalidArgument(f"{start}{'; '.join(what)}; expected {', '.join(expected)}")


def _number(cell: str) -> Any:
    """As pandas reads it: an empty cell is no number."""
    if cell in ("", "NaN", "nan"):
        return None
    if cell in ("True", "true", "False", "false"):
        return cell in ("True", "true")
    try:
        return int(cell)
    except ValueError:
        pass
    try:
        return float(cell)
    except ValueError:
        return cell


# --- the shapes of a model -----------------------------------------------------------------------


def fitted(array: Array, spec: TensorSpec, max_batch_size: int) -> Array:
    """With the axes that the model has, where that is only a matter of axes of a row."""
    wanted = spec.wire_shape(max_batch_size)
    if array.ndim == len(wanted) or not array.ndim:
        return array
    row = wanted[1:]
    if -1 not in row and array.size == len(array) * element_count(tuple(row)):
        return array.reshape((len(array), *row))
    return array
