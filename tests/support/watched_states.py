"""A table as an oracle: every write to a watched table of rows is compared with its machine."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.models import Model

from controlplane.core.states import Machine

WRITES = ("INSERT", "UPDATE", "DELETE")


class Watch:
    """``seen`` counts the changes of state, as (old, new); None is no row.

    ``read`` tells the state of a row where that is no column.
    """

    def __init__(
        self,
        model: type[Model],
        machine: Machine[Any, Any],
        read: Callable[[Any], str] | None = None,
    ) -> None:
        self.model = model
        self.machine = machine
        self.seen: Counter[tuple[str | None, str | None]] = Counter()
        self.read = read or (lambda row: str(getattr(row, machine.column)))
        self.states = self._states()

    def _states(self) -> dict[object, str]:
        return {row.pk: self.read(row) for row in self.model._default_manager.all()}

    def look(self) -> None:
        """Compare what is there with what was; every change must be one that the table knows."""
        before, after = self.states, self._states()
        self.states = after
        for key in before.keys() | after.keys():
            old, new = before.get(key), after.get(key)
            if old != new:
                self.seen[old, new] += 1
                assert self.knows(old, new), f"{self.machine.name} {key}: {old} became {new}"

    def knows(self, old: str | None, new: str | None) -> bool:
        machine = self.machine
        if old is None:
            return new in machine.starts
        if new is None:
            return any(old in move.old and not move.new for move in machine.moves)
        return new in machine.follows(machine.states(old))


@contextmanager
def watched(*watches: Watch) -> Iterator[None]:
    """After each statement that writes one of the tables, within one transaction that is undone."""

    def wrapper(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        result = execute(sql, params, many, context)
        if sql.lstrip().startswith(WRITES):
            for watch in watches:
                if f'"{watch.model._meta.db_table}"' in sql:
                    watch.look()
        return result

    with transaction.atomic():
        for watch in watches:
            watch.states = watch._states()
        with connection.execute_wrapper(wrapper):
            yield
        transaction.set_rollback(True)
