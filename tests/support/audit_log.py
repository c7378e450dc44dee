"""A log of events with anchors of its own, and its rows as who holds the database has them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from controlplane.core import audit, events
from controlplane.core.models import AuditHead, Event

Rows = list[dict[str, Any]]


def happen(count: int = 3, actor: str = "dana") -> list[Event]:
    made = [
        events.record(actor=actor, verb="x.done", subject=f"x/{n}", message=f"{n}", data={"n": n})
        for n in range(count)
    ]
    audit.seal()
    return made


def snapshot() -> tuple[Rows, Rows]:
    """All rows, as a copy of the database has them."""
    return list(Event.objects.values()), list(AuditHead.objects.values())


def put_back(kept: tuple[Rows, Rows]) -> None:
    Event.objects.all().delete()
    AuditHead.objects.all().delete()
    Event.objects.bulk_create([Event(**row) for row in kept[0]])
    AuditHead.objects.bulk_create([AuditHead(**row) for row in kept[1]])


def forge(**fields: Any) -> Event:
    values = {"actor": "eve", "verb": "x.done", "subject": "x/1", "message": "all is well"}
    return Event.objects.create(**{**values, **fields})


# The three proofs.


# What a database takes from who may do anything in it: each has means of its own.

LONG = "9" * 5000  # Python reads no whole number of this length
NO_TIME = {"sqlite": "yesterday", "postgresql": "infinity"}  # which Python's datetime cannot hold


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def spoil(table: str, column: str, text: str, where: str = "") -> None:
    """Store what the column's own kind of field would refuse."""
    update = f"UPDATE {table} SET {column} = {text} {where}"
    if connection.vendor == "sqlite":
        pragma = "PRAGMA ignore_check_constraints = "
        return run(f"{pragma}ON", update, f"{pragma}OFF")
    return run(update)


def spoil_event(seq: int, column: str, text: str) -> None:
    spoil("core_event", column, f"'{text}'", f"WHERE seq = {seq}")


@contextmanager
def end_set_at_each_update(column: str, value: str) -> Iterator[None]:
    """A trigger of the database: once the end has been looked at, it is written otherwise."""
    if connection.vendor == "sqlite":
        run(
            "CREATE TRIGGER eve AFTER UPDATE ON core_audithead BEGIN "
            f"UPDATE core_audithead SET {column} = {value}; END"
        )
    else:
        run(
            "CREATE FUNCTION eve() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN NEW.{column} := {value}; RETURN NEW; END $$",
            "CREATE TRIGGER eve BEFORE UPDATE ON core_audithead "
            "FOR EACH ROW EXECUTE FUNCTION eve()",
        )
    yield
    run("DROP TRIGGER eve" + ("" if connection.vendor == "sqlite" else " ON core_audithead"))


def only_sqlite(why: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip(f"{connection.vendor} cannot store it: {why}")
