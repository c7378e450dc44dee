"""Which tables a migration keeps from others, and for how long."""

import threading
import time
from dataclasses import dataclass, field
from typing import Self

import psycopg
from psycopg.sql import SQL, Identifier

LOOK_S = 0.002
# Modes that keep writers off; the last one keeps readers off as well.
MODES = ("ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock")
HELD = """
SELECT c.relname, l.mode, l.granted FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.mode = ANY(%s) AND c.oid = ANY(%s)
"""
THERE = "SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"


@dataclass
class Locks:
    """The locks on tables that one database had before, for as long as this is entered.

    ``held_s``: (table, mode) -> the longest time in seconds that it was seen, at 2 ms a look.
    """

    url: str
    held_s: dict[tuple[str, str], float] = field(default_factory=dict)
    tries: int = 0  # how often somebody began to wait for one of them

    def __enter__(self) -> Self:
        self._connection = psycopg.connect(self.url, autocommit=True)
        self._tables = [row[0] for row in self._connection.execute(THERE).fetchall()]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._connection.close()

    @property
    def longest_s(self) -> float:
        """For which anybody had to wait for a table."""
        return max(self.held_s.values(), default=0.0)

    def told(self) -> str:
        """Tables and modes with milliseconds, the longest first."""
        longest = sorted(self.held_s.items(), key=lambda item: -item[1])
        lines = (f"{table} {mode} {held * 1000:.0f} ms" for (table, mode), held in longest)
        return ", ".join(lines) or "none"

    def _look(self) -> None:
        since: dict[tuple[str, str], float] = {}
        waited = False
        while not self._ended.wait(LOOK_S):
            now = time.monotonic()
            rows = self._connection.execute(HELD, [list(MODES), self._tables]).fetchall()
            held = {(str(table), str(mode)) for table, mode, granted in rows if granted}
            waits = any(not granted for *_, granted in rows)
            self.tries += waits and not waited
            waited = waits
            since = {each: since.get(each, now) for each in held}
            for each, began in since.items():
                self.held_s[each] = max(self.held_s.get(each, 0.0), now - began)


class Reader:
    """Somebody who reads a row of a table again and again while this is entered."""

    def __init__(self, url: str, table: str) -> None:
        self._url, self._query = url, SQL("SELECT 1 FROM {} LIMIT 1").format(Identifier(table))
        self.longest_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._ended.wait(LOOK_S):
                began = time.monotonic()
                connection.execute(self._query).fetchone()
                self.longest_s = max(self.longest_s, time.monotonic() - began)
