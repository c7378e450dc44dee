"""What a piece of code fetches from a database: rows, and how much text they carry.

Numbers of queries say nothing of a query that reads everything. Rows alone say nothing of a row
that holds a whole list as JSON.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connections

TEXT = (str, bytes, memoryview)


@dataclass
class RowsRead:
    queries: int = 0
    rows: int = 0
    characters: int = 0  # of texts, JSON and bytes as the driver gave them

    def add(self, row: Any) -> None:
        self.rows += 1
        self.characters += sum(len(value) for value in row if isinstance(value, TEXT))


class _Cursor:
    """The driver's cursor below Django's: every way by which Django takes rows from it."""

    def __init__(self, cursor: Any, read: RowsRead) -> None:
        self._cursor = cursor
        self._read = read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __iter__(self) -> Iterator[Any]:
        for row in self._cursor:
            self._read.add(row)
            yield row

    def fetchone(self) -> Any:
        row = self._cursor.fetchone()
        if row is not None:
            self._read.add(row)
        return row

    def fetchmany(self, *size: int) -> Any:
        return self._counted(self._cursor.fetchmany(*size))

    def fetchall(self) -> Any:
        return self._counted(self._cursor.fetchall())

    def _counted(self, rows: Any) -> Any:
        for row in rows:
            self._read.add(row)
        return rows


@contextmanager
def rows_read(*aliases: str) -> Iterator[RowsRead]:
    """Counts until it ends, over these databases; ``default`` unless said."""
    read = RowsRead()
    with ExitStack() as stack:
        for alias in aliases or ("default",):
            stack.enter_context(connections[alias].execute_wrapper(counted(read)))
        yield read


def counted(read: RowsRead) -> Callable[..., Any]:
    """A wrapper of ``execute``, as connections have them, that counts into ``read``."""

    def execute(
        run: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        read.queries += 1
        wrapper = context["cursor"]
        if not isinstance(wrapper.cursor, _Cursor):  # Django may execute twice with one cursor
            wrapper.cursor = _Cursor(wrapper.cursor, read)
        return run(sql, params, many, context)

    return execute
