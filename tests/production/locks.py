"""Which tables a migration keeps from everybody, and for how long."""

import threading
import time
from dataclasses import dataclass, field
from typing import Self

import psycopg

LOOK_S = 0.002
# The lock that waits for all readers and lets none pass, on tables that were there before.
HELD = """
SELECT c.relname, l.granted FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.mode = 'AccessExclusiveLock' AND c.relkind = 'r' AND c.oid = ANY(%s)
"""
THERE = "SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"


@dataclass
class Locks:
    """While this is entered, the ACCESS EXCLUSIVE locks on the tables of one database."""

    url: str
    held_s: dict[str, float] = field(default_factory=dict)  # of each table, the longest
    _since: dict[str, float] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._connection = psycopg.connect(self.url, autocommit=True)
        self._tables = [row[0] for row in self._connection.execute(THERE)]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._connection.close()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_S):
            now = time.monotonic()
            rows = self._connection.execute(HELD, [self._tables]).fetchall()
            held = {str(name) for name, granted in rows if granted}
            for name in held:
                since = self._since.setdefault(name, now)
                self.held_s[name] = max(self.held_s.get(name, 0.0), now - since)
            for name in set(self._since) - held:
                del self._since[name]

    def told(self) -> str:
        """Tables with milliseconds, the longest first."""
        longest = sorted(self.held_s.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {held * 1000:.0f} ms" for name, held in longest) or "none"
