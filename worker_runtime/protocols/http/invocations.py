"""MLflow's JSON and CSV to tensors of a model that knows neither: what was asked, in arrays.

The keys are those of MLflow's scoring server (``dataframe_split``, ``dataframe_records``,
``instances``, ``inputs``) and Azure's ``input_data``. Tables go to the model as MLflow gives them
to a graph of ONNX: as one matrix to the only input, else each column to the input of its name.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.nested_json import (
    BLANK,
    SMALL,
    Array,
    Pieces,
    check_small,
    decoded,
    is_long,
    is_outermost,
    member_of,
    nested_array,
    passed_over,
)
from worker_runtime.protocols.http.tables import (
    MOST_ROW,
    Table,
    check_count,
    inputs_of,
    of_csv,
    same_names,
)
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import element_count

CSV = "text/csv"
AZURES = "input_data"
_SPLIT, _RECORDS = "dataframe_split", "dataframe_records"
_WORDS = (AZURES, _SPLIT, _RECORDS, "instances", "inputs")
_FIRST = 4096  # bytes in which the key is looked for, and ...
_MOST = 8  # how often: it may be one of KServe's parameters, too
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


def is_invocation(content_type: str, body: Any) -> bool:
    """Whether this is for ``asked``: else it is KServe's."""
    start = bytes(body[:_FIRST])
    keys = (found.start() for found in _KEY.finditer(start))
    return _is_csv(content_type) or any(is_outermost(start[:key]) for key in islice(keys, _MOST))


def _is_csv(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == CSV


def asked(signature: Signature, content_type: str, body: bytes) -> Steps[Asked]:
    """The tensors that ``body`` says. Raises InvalidArgument."""
    if _is_csv(content_type):
        return Asked("csv", True, (yield from of_csv(signature, body)))
    if len(body) <= SMALL:
        check_small(body)
    document = yield from _members(body, "the JSON")
    given = [word for word in _WORDS if word in document]
    if len(given) != 1:
        said = ", ".join(given) or "none"
        raise InvalidArgument(f"expected one of {', '.join(_WORDS)}, got {said}")
    params = document.get("params", b"null")
    if params[:64].translate(None, BLANK) not in (b"null", b"{}"):
        raise InvalidArgument(f"params: model '{signature.model}' takes none")
    (word,) = given
    raw = document.pop(word)
    for value in document.values():
        yield from passed_over(value, "the JSON")
    start = raw[:64].translate(None, BLANK)
    table = word not in ("instances", "inputs")
    if word == _SPLIT or (start.startswith(b"{") and word != _RECORDS):
        members = yield from _members(raw, word)
        if word == _SPLIT or (word == AZURES and "data" in members):
            return Asked(word, table, (yield from _of_split(signature, word, members)))
        return Asked(word, False, (yield from _of_names(signature, word, members)))
    if word == _RECORDS or start.startswith(b"[{"):
        return Asked(word, table, (yield from _of_records(signature, word, raw, table=table)))
    spec = _only(signature, word)
    return Asked(word, table, {spec.name: (yield from nested_array(raw, spec))})


def _members(raw: bytes, where: str) -> Steps[dict[str, bytes]]:
    """The values of an object, unread, by their names."""
    if not raw[:64].lstrip(BLANK).startswith(b"{"):
        decoded(raw, dict[str, msgspec.Raw], where)  # tells what it is
    found: dict[str, bytes] = {}
    pieces = Pieces(raw, where)
    while piece := (yield from pieces.next()):
        if is_long(piece):
            part = dict([member_of(piece, where)])
        else:
            raws = decoded(b"{%b}" % piece, dict[str, msgspec.Raw], where)
            part = {name: bytes(value) for name, value in raws.items()}
        if part.keys() & found.keys():  # why: nobody would have looked at the first one
            raise InvalidArgument(f"{where}: a name is given twice")
        found |= part
        check_count(found, where)
        yield None
    return found


def _cells(raw: bytes, where: str) -> Steps[list[bytes]]:
    """The same of a list."""
    found: list[bytes] = []
    pieces = Pieces(raw, where)
    while piece := (yield from pieces.next()):
        if is_long(piece):
            found.append(piece)
        else:
            found += map(bytes, decoded(b"[%b]" % piece, list[msgspec.Raw], where))
        check_count(found, where)
        yield None
    return found


# --- what stands where ---------------------------------------------------------------------------


def _of_split(
    signature: Signature, word: str, split: Mapping[str, bytes]
) -> Steps[dict[str, Array]]:
    if "data" not in split:
        raise InvalidArgument(f"{word}: data is missing")
    for name in split.keys() - {"data", "columns"}:
        yield from passed_over(split[name], word)
    inputs, raw = inputs_of(signature), split["data"]
    columns = _columns(split.get("columns", b"null"), word)
    if len(inputs) == 1:
        found = yield from nested_array(raw, inputs[0])
        if columns is not None and found.ndim > 1 and len(found):
            _check_width(found.shape[1], len(columns), word, 0)
        return {inputs[0].name: found}
    if columns is None:
        raise InvalidArgument(f"{word}: expected columns, for the model has {len(inputs)} inputs")
    table = Table(signature, columns, word, alone=False)
    pieces = Pieces(raw, word)
    count = 0
    while piece := (yield from pieces.next()):
        if is_long(piece):
            cells = yield from _cells(piece, f"{word}: row {count}")
            _check_width(len(cells), len(columns), word, count)
            yield from table.add_long(dict(zip(columns, cells, strict=True)))
            count += 1
            continue
        found_rows = decoded(b"[%b]" % piece, list[list[Any]], word)
        for number, row in enumerate(found_rows, count):
            _check_width(len(row), len(columns), word, number)
        table.add(found_rows)
        count += len(found_rows)
        yield None
    return (yield from table.tensors())


def _columns(raw: bytes, word: str) -> list[str] | None:
    """Their names, which may be numbers: what pandas calls those that have none."""
    if len(raw) > MOST_ROW:
        raise InvalidArgument(f"{word}: columns: more than {MOST_ROW} bytes")
    names = decoded(raw, list[str | int | float] | None, f"{word}: columns")
    if names is None:
        return None
    check_count(names, word)
    return [str(name) for name in names]


def _check_width(width: int, expected: int, word: str, number: int) -> None:
    if width != expected:
        raise InvalidArgument(f"{word}: row {number} has {width} values, expected {expected}")


def _of_records(
    signature: Signature, word: str, raw: bytes, *, table: bool
) -> Steps[dict[str, Array]]:
    """Rows that name their columns: the first row's, which all must have."""
    columns: Table | None = None
    alone = table and len(inputs_of(signature)) == 1
    count = 0
    pieces = Pieces(raw, word)
    while piece := (yield from pieces.next()):
        long = is_long(piece)
        found: list[dict[str, Any]]
        if long:
            found = [(yield from _members(piece, f"{word}: row {count}"))]
        else:
            found = decoded(b"[%b]" % piece, list[dict[str, Any]], word)
        for row in found:
            if columns is None:
                columns = Table(signature, list(row), word, alone=alone)
            columns.check(row, count)
            count += 1
        if columns is None:
            break
        if not long:
            columns.add([[row[name] for name in columns.columns] for row in found])
        elif alone and len(piece) <= MOST_ROW:
            columns.add([[decoded(found[0][name], Any, word) for name in columns.columns]])
        else:
            yield from columns.add_long(found[0])
        yield None
    if columns is None:
        raise InvalidArgument(f"{word}: expected one row at least")
    return (yield from columns.tensors())


def _of_names(
    signature: Signature, word: str, named: Mapping[str, bytes]
) -> Steps[dict[str, Array]]:
    specs = {spec.name: spec for spec in signature.inputs}
    needed = [spec.name for spec in signature.inputs if not spec.optional or spec.name in named]
    same_names(needed, list(named), word)
    found = {}
    for name in needed:
        found[name] = yield from nested_array(named[name], specs[name])
    return found


def _only(signature: Signature, word: str) -> TensorSpec:
    inputs = inputs_of(signature)
    if len(inputs) != 1:
        names = ", ".join(spec.name for spec in inputs)
        raise InvalidArgument(f"{word}: expected arrays by name, for the model takes {names}")
    return inputs[0]


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
