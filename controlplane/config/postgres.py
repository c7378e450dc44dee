"""How Django reaches PostgreSQL: through a bounded pool, and without a call that waits for ever.

PostgreSQL bounds statements and locks by itself, as long as it runs. One that is frozen still has a
kernel that takes connections and confirms packets, so neither keepalives nor those bounds notice
it: what waits on a connection gives up here, too.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar, cast

import psycopg
from django.db import OperationalError
from psycopg import errors
from psycopg_pool import ConnectionPool

T = TypeVar("T")

# A connection that nobody used for so long is closed.
IDLE_S: Final = 60.0
# Who waits is told this much later than PostgreSQL should have said so itself.
GRACE_S: Final = 2.0
# How long a migration waits for a table before it lets others pass, how long it lets them, and for
# how long it tries.
MIGRATION_LOCK_MS: Final = 1000
MIGRATION_PAUSE_S: Final = 3.0
MIGRATION_PATIENCE_S: Final = 120.0
# A host that vanished shows after a minute at most; it is asked after half of it.
KEEPALIVES: Final = {
    "keepalives": "1",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Whole seconds; 0 of a statement or a lock is no bound."""

    pool_size: int  # connections of one process to one database
    connect_s: int  # until one is made, or another of the pool is free
    statement_s: int
    lock_s: int


class Impatient(psycopg.Connection[Any]):
    """A connection that is ended by who waits on it for too long; see ``impatient``."""

    check_s: ClassVar[float]
    answer_s: float | None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Raises OperationalError when PostgreSQL says nothing in time."""
        timeout_s = timeout or self.answer_s
        try:
            return super().wait(gen, interval, timeout_s)
        except errors._WaitTimeout as error:
            # why: what was asked may still be answered, and would be taken for the next answer
            self.pgconn.finish()
            raise errors.OperationalError(f"no answer within {timeout_s:g} s") from error

    def execute(self, *arguments: Any, **options: Any) -> Any:
        """The pool's look at a connection before it lends it. (Django has cursors of its own.)"""
        kept, self.answer_s = self.answer_s, self.check_s
        try:
            return super().execute(*arguments, **options)
        finally:
            self.answer_s = kept


def impatient(bounds: Bounds) -> type[Impatient]:
    answer_s = bounds.statement_s + GRACE_S if bounds.statement_s else None
    return type(
        "Impatient", (Impatient,), {"check_s": float(bounds.connect_s), "answer_s": answer_s}
    )


def refuse_waiting(pool: ConnectionPool[Any]) -> None:
    """No connection could be made. Where none is left either, who waits for one is told at once."""
    with pool._lock:
        if pool._nconns > 0:
            return  # some are in use, and will come back
        waiting = list(pool._waiting)
        pool._waiting.clear()
    for client in waiting:
        client.fail(errors.OperationalError("PostgreSQL cannot be reached"))


def options(bounds: Bounds, given: Mapping[str, str]) -> dict[str, Any]:
    """OPTIONS of a DATABASES entry; ``given`` are libpq's parameters of the URL, which win."""
    limits = {"statement_timeout": bounds.statement_s, "lock_timeout": bounds.lock_s}
    ours = (f"-c {name}={seconds * 1000}" for name, seconds in limits.items())
    return {
        **KEEPALIVES,
        "connect_timeout": str(bounds.connect_s),
        **given,
        "options": " ".join([*ours, given.get("options", "")]).strip(),
        "pool": {
            "min_size": 0,
            "max_size": bounds.pool_size,
            "timeout": bounds.connect_s,
            "max_idle": IDLE_S,
            # why none: a request must hear that the database is away, not wait for its return
            "reconnect_timeout": 0.0,
            "reconnect_failed": refuse_waiting,
            "connection_class": impatient(bounds),
        },
    }


@contextmanager
def for_migrations(connection: Any) -> Iterator[None]:
    """Statements of this Django connection may take as long as they do; its waits for locks are
    shorter than others', since behind one that waits for a table everybody who reads it waits."""
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(f"SET lock_timeout = {MIGRATION_LOCK_MS}")
    cast(Impatient, connection.connection).answer_s = None
    try:
        yield
    finally:
        # why the pool as well: nobody else may get this connection
        connection.close()
        connection.close_pool()


def patiently(
    step: Callable[[], object],
    tell: Callable[[str], None],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """``step``, again where it found a table in use, for two minutes and with pauses for others.

    It must change nothing when it fails. Raises OperationalError (Django's) of the last try.
    """
    give_up = clock() + MIGRATION_PATIENCE_S
    while True:
        try:
            step()
            return
        except OperationalError as error:
            waited = isinstance(error.__cause__, errors.LockNotAvailable)
            if not waited or clock() + MIGRATION_PAUSE_S > give_up:
                raise
        tell(
            f"Another transaction uses a table that is to change; next try in "
            f"{MIGRATION_PAUSE_S:g} s. (A backup? pg_stat_activity names it.)"
        )
        sleep(MIGRATION_PAUSE_S)
