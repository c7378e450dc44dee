"""The two questions of supervisors: is it up, and can it work."""

import socket

import pytest
from django.test import Client
from pytest_django import Settings

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def test_the_process_is_up_whatever_its_neighbours_do() -> None:
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_a_missing_redis_makes_it_unready_and_is_named(settings: Settings) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        settings.SHOAL_REDIS_URL = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
        answer = Client().get("/readyz")
    assert answer.status_code == 503
    checks = answer.json()["checks"]
    assert (checks["default"], checks["metrics"]) == ("ok", "ok")
    assert checks["redis"].startswith("unreachable")
