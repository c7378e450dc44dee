"""Is the process up, and can it reach what it needs? For supervisors and load balancers."""

import redis
from django.conf import settings
from django.db import DatabaseError, connections
from django.http import HttpRequest, HttpResponse, JsonResponse

REDIS_TIMEOUT_S = 1.0


def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; touches nothing else."""
    del request
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """200 when every neighbour answers, else 503; the body says which one does not."""
    del request
    checks = {alias: _database(alias) for alias in connections} | {"redis": _redis()}
    ready = all(answer == "ok" for answer in checks.values())
    return JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)


def _database(alias: str) -> str:
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return f"unreachable: {error}"
    return "ok"


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
    return "ok"
