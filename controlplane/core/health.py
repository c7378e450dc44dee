"""Is the process up, and can it do what it is for? For supervisors and load balancers."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import Any, Final

import redis
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse

# A probe is answered within this, whatever its neighbours do: probes have bounds of their own.
LONGEST_S: Final = 2.0
REDIS_TIMEOUT_S: Final = 1.0
OK: Final = "ok"
MOST_NAMED: Final = 3


class Look:
    """One neighbour, asked by a thread of its own: one question at a time, however many want to
    know. One that says nothing costs a thread and no more."""

    def __init__(self, ask: Callable[..., str], *arguments: str) -> None:
        self._ask, self._arguments = ask, arguments
        self._asked: Future[str] | None = None

    def begin(self) -> "Future[str]":
        # why no lock: the worst race is one question more
        asked = self._asked
        if asked is None or asked.done():
            self._asked = asked = Future()
            # why a daemon: a neighbour that never answers must not keep the process from ending
            threading.Thread(target=self._look, args=(asked,), name="health", daemon=True).start()
        return asked

    def _look(self, asked: "Future[str]") -> None:
        try:
            asked.set_result(self._ask(*self._arguments))
        except BaseException as error:
            asked.set_exception(error)


def livez(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; touches nothing else."""
    del request
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """200 while requests can be answered, else 503; ``checks`` says of each neighbour how it does.

    Without Redis they can, only later work is late: ``degraded``, and 200.
    """
    del request
    until = time.monotonic() + LONGEST_S
    asked = {name: look.begin() for name, look in LOOKS.items()}
    checks = {name: _answer(future, until) for name, future in asked.items()}
    amiss = [name for name, text in checks.items() if text != OK]
    ready = not any(name in connections for name in amiss)
    body = {"ready": ready, "degraded": ready and bool(amiss), "checks": checks}
    return JsonResponse(body, status=200 if ready else 503)


def _answer(asked: "Future[str]", until: float) -> str:
    try:
        return asked.result(max(0.0, until - time.monotonic()))
    except TimeoutError:
        return f"unreachable: no answer within {LONGEST_S:g} s"


def _database(alias: str) -> str:
    # why not one of the pool: all may be busy, and that is no reason to be sent nothing more
    connection = connections[alias].copy()
    connection.settings_dict["OPTIONS"].pop("pool", None)
    # of this thread, and so for the recorder's queries, which name the database by its alias
    connections[alias] = connection
    try:
        applied = MigrationRecorder(connection).applied_migrations()
    except DatabaseError as error:
        return f"unreachable: {error}"
    finally:
        connection.close()
    missing = sorted(".".join(key) for key in _migrations() - set(applied))
    if missing:
        named = ", ".join(missing[:MOST_NAMED])
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        return f"older than this program, `migrate` is due: {named}{more}"
    return OK


@cache
def _migrations() -> frozenset[tuple[str, str]]:
    """Those that a database of this program has: not what squashed ones stand for."""
    nodes: Any = MigrationLoader(None).graph.nodes
    return frozenset(nodes)


def _redis() -> str:
    client = redis.Redis.from_url(
        settings.SHOAL_REDIS_URL,
        socket_timeout=REDIS_TIMEOUT_S,
        socket_connect_timeout=REDIS_TIMEOUT_S,
    )
    try:
        client.ping()
    except redis.RedisError as error:
        return f"unreachable: {error}"
    finally:
        client.close()
    return OK


LOOKS: Final = {alias: Look(_database, alias) for alias in connections} | {"redis": Look(_redis)}
