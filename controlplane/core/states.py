"""State machines as data: which cause turns which states into which, and writing by that table.

Services change a column of states through its machine alone. ``write`` compares and sets in one
UPDATE whose condition and value come from the table: what the table does not know is not written,
whoever else writes at the same moment. It costs no query besides.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet, TextChoices
from django.db.models.expressions import Combinable

from controlplane.core.errors import Conflict

StateT = TypeVar("StateT", bound=TextChoices)
CauseT = TypeVar("CauseT", bound=StrEnum)


class IllegalTransition(Conflict):
    """A change of state that its table does not know."""

    code = "IllegalTransition"
    tries = ("Read it again: something else changed it meanwhile.",)


@dataclass(frozen=True, slots=True)
class Move(Generic[StateT, CauseT]):
    """``cause`` turns any of ``old`` into one of ``new``; without ``new`` the row goes."""

    cause: CauseT
    old: tuple[StateT, ...]
    new: tuple[StateT, ...]
    when: str  # for people


class Machine(Generic[StateT, CauseT]):
    """The moves of one column; ``starts`` are the states of a new row."""

    def __init__(
        self,
        name: str,
        states: type[StateT],
        *,
        starts: Iterable[StateT],
        moves: Iterable[Move[StateT, CauseT]],
        column: str = "state",
    ) -> None:
        self.name = name
        self.states = states
        self.every: tuple[StateT, ...] = tuple(states)
        self.starts = frozenset(starts)
        self.moves = tuple(moves)
        self.column = column

    def __repr__(self) -> str:
        return f"Machine({self.name})"

    def sources(self, cause: CauseT, new: StateT | None = None) -> frozenset[StateT]:
        """The states in which ``cause`` may happen, and if ``new`` is given, leads to it."""
        return frozenset(
            old
            for move in self.moves
            if move.cause == cause and (new is None or new in move.new)
            for old in move.old
        )

    def follows(self, old: StateT) -> frozenset[StateT]:
        """Every other state that may come next, whatever the cause."""
        found = {new for move in self.moves if old in move.old for new in move.new}
        return frozenset(found - {old})

    def target(self, cause: CauseT) -> StateT:
        """Where ``cause`` leads, if that is one state. Raises ValueError where it is not."""
        found = {new for move in self.moves if move.cause == cause for new in move.new}
        if len(found) != 1:
            raise ValueError(f"{self.name}: {cause} leads to {len(found)} states; say which.")
        return found.pop()

    def allows(self, old: StateT, cause: CauseT, new: StateT | None = None) -> bool:
        """Whether ``cause`` may happen in ``old``, and if ``new`` is given, leads to it."""
        return old in self.sources(cause, new)

    def check(self, old: StateT, cause: CauseT, new: StateT | None = None) -> StateT:
        """``new``, or where ``cause`` leads. Raises IllegalTransition."""
        wanted = self.target(cause) if new is None else new
        if not self.allows(old, cause, wanted):
            raise IllegalTransition(
                f"{type(old).__name__}: {old.value} cannot become {wanted.value} by {cause}."
            )
        return wanted

    def write(
        self, rows: QuerySet[Any], cause: CauseT, new: StateT | None = None, **fields: Any
    ) -> int:
        """Set those of ``rows`` that ``cause`` may change, and ``fields`` of the same rows.

        Returns how many they were. Raises IllegalTransition for what no state allows.
        """
        wanted = self.target(cause) if new is None else new
        sources = self.sources(cause, wanted)
        if not sources:
            raise IllegalTransition(
                f"{self.states.__name__}: nothing becomes {wanted.value} by {cause}."
            )
        if len(sources) < len(self.states):
            rows = rows.filter(**{f"{self.column}__in": sorted(sources)})
        return rows.update(**{self.column: wanted}, **fields)

    def move(
        self,
        row: Model,
        cause: CauseT,
        new: StateT | None = None,
        *,
        rows: QuerySet[Any] | None = None,
        **fields: Any,
    ) -> bool:
        """Whether ``cause`` changed this row, in the database and then in memory.

        ``rows`` narrows what counts as this row, such as to a claim or a generation.
        """
        wanted = self.target(cause) if new is None else new
        found = type(row)._default_manager.all() if rows is None else rows
        if not self.write(found.filter(pk=row.pk), cause, wanted, **fields):
            return False
        for name, value in {self.column: wanted, **fields}.items():
            if not isinstance(value, Combinable):  # F("revision") + 1 is known to the database
                setattr(row, name, value)
        return True
