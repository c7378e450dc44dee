"""Rows of a table, in JSON or CSV, to tensors: one matrix, or a tensor for each column."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.nested_json import Array, converted, nested_array, whole
from worker_runtime.protocols.http.tensors import SLICE_ELEMENTS
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.signature import Signature, TensorSpec

MOST_ROW = 1024 * 1024  # bytes of a row that is looked at in one slice, and ...
_MOST_COLUMNS = 16_384  # of its columns
_TOLD = 8  # names in an error, and ...
_TOLD_LETTERS = 60  # of each


class Table:
    """Rows that come piece by piece. ``alone``: they are a matrix for the only input."""

    def __init__(
        self, signature: Signature, columns: Sequence[str], where: str, *, alone: bool
    ) -> None:
        inputs = inputs_of(signature)
        self.columns, self._where = columns, where
        self._known = set(columns)
        if len(self._known) < len(columns):
            twice = [name for name, count in Counter(columns).items() if count > 1]
            raise InvalidArgument(f"{where}: columns of the same name: {_told(twice)}")
        self._alone = inputs[0] if alone else None
        self._specs = {spec.name: spec for spec in inputs}
        if not alone:
            same_names(list(self._specs), columns, where)
        names = [inputs[0].name] if alone else columns
        self._parts: dict[str, list[Array]] = {name: [] for name in names}

    def spec(self, column: str) -> TensorSpec:
        return self._alone or self._specs[column]

    def check(self, row: Mapping[str, Any], number: int) -> None:
        """Raises InvalidArgument unless it has each column."""
        if row.keys() != self._known:
            odd = sorted(row.keys() ^ self._known)
            raise InvalidArgument(f"{self._where}: row {number} and row 0 differ in {_told(odd)}")

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Values in the order of the columns, as many in each row."""
        if self._alone is None:
            for name, values in zip(self.columns, zip(*rows, strict=True), strict=True):
                self._parts[name].append(converted(list(values), self._specs[name]))
            return
        if len(self.columns) == 1:
            self._add_alone(converted([value for (value,) in rows], self._alone))
            return
        found = converted(rows, self._alone)
        if found.ndim > 2:
            self._refuse_wide()
        self._add_alone(found)

    def add_long(self, row: Mapping[str, bytes]) -> Steps[None]:
        """A row of which some value is so long that it is read in pieces."""
        if self._alone is not None and len(self.columns) > 1:
            self._refuse_wide()
        for name in self.columns:
            found = yield from nested_array(row[name], self.spec(name), 2)
            if self._alone is None:
                self._parts[name].append(found[None])
            else:
                self._add_alone(found[None])

    def _add_alone(self, found: Array) -> None:
        (parts,) = self._parts.values()
        parts.append(found)

    def _refuse_wide(self) -> None:
        name = next(iter(self._parts))
        text = f"{self._where}: '{name}' is the only input: expected columns of single values"
        raise InvalidArgument(text)

    def tensors(self) -> Steps[dict[str, Array]]:
        """In the model's order."""
        found = {}
        for name, parts in self._parts.items():
            found[name] = yield from whole(parts, self.spec(name))
        if self._alone is None:
            return {name: found[name] for name in self._specs}
        if not any(self._parts.values()) and len(self.columns) != 1:
            found = {self._alone.name: np.empty((0, len(self.columns)), self._alone.datatype.dtype)}
        return found


class _Lines:
    """Lines of a CSV, of which one row takes no more than it may: csv joins those in quotes."""

    def __init__(self, body: bytes) -> None:
        # why no text as a whole: it would be four times as large, and take long to make
        self._text = io.TextIOWrapper(io.BytesIO(body), encoding="utf-8-sig", newline="")
        self._left = MOST_ROW

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(self._left + 1):
            self._left -= len(line)
            if self._left < 0:
                raise InvalidArgument(f"CSV: a line has more than {MOST_ROW} characters")
            yield line

    def next_row(self) -> None:
        self._left = MOST_ROW


def of_csv(signature: Signature, body: bytes) -> Steps[dict[str, Array]]:
    """Columns by the first line; what looks like a number is one where the model takes numbers."""
    try:
        lines = _Lines(body)
        reader = csv.reader(iter(lines), strict=True)
        columns = next(reader, [])
        if not columns:
            raise InvalidArgument("CSV: expected a first line with names of columns")
        check_count(columns, "CSV")
        alone = len(inputs_of(signature)) == 1
        table = Table(signature, columns, "CSV", alone=alone)
        readers = [
            str if table.spec(name).datatype.name == "BYTES" else _number for name in columns
        ]
        rows = _rows_of(reader, lines, len(columns))
        while piece := list(islice(rows, max(1, SLICE_ELEMENTS // len(columns)))):
            table.add([list(map(_read, readers, row)) for row in piece])
            yield None
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"CSV is no UTF-8: {error}") from None
    except csv.Error as error:
        raise InvalidArgument(f"CSV: {error}") from None
    return (yield from table.tensors())


def _rows_of(reader: Any, lines: _Lines, width: int) -> Iterator[list[str]]:
    """Without lines that are empty, as pandas reads them."""
    lines.next_row()
    for row in reader:
        lines.next_row()
        if row and len(row) != width:
            text = f"CSV: line {reader.line_num} has {len(row)} values, expected {width}"
            raise InvalidArgument(text)
        if row:
            yield row


def _read(reader: Callable[[str], Any], cell: str) -> Any:
    return reader(cell)


def _number(cell: str) -> Any:
    """As pandas reads it: an empty cell is no number."""
    if cell in ("", "NaN", "nan"):
        return None
    if cell in ("True", "true", "False", "false"):
        return cell in ("True", "true")
    if "_" in cell:  # which Python alone takes for a number
        return cell
    try:
        return int(cell)
    except ValueError:
        pass
    try:
        return float(cell)
    except ValueError:
        return cell


def inputs_of(signature: Signature) -> list[TensorSpec]:
    """Those that a request needs."""
    return [spec for spec in signature.inputs if not spec.optional]


def same_names(expected: Sequence[str], given: Collection[str], word: str) -> None:
    missing = [name for name in expected if name not in given]
    unknown = [name for name in given if name not in expected]
    if missing or unknown:
        what = [f"{_told(missing)} {_be(missing)} missing"] if missing else []
        what += [f"{_told(unknown)} {_be(unknown)} no input of the model"] if unknown else []
        raise InvalidArgument(f"{word}: {'; '.join(what)}; expected {', '.join(expected)}")


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _told(names: Sequence[str]) -> str:
    """Some of them: a client may have sent any number, and each as long as it likes."""
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(name[:_TOLD_LETTERS] for name in names[:_TOLD]) + more


def check_count(columns: Collection[Any], where: str) -> None:
    if len(columns) > _MOST_COLUMNS:
        raise InvalidArgument(f"{where}: more than {_MOST_COLUMNS} values")
