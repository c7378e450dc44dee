"""The questions of supervisors and balancers: is it up, can it work, and what is amiss."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from controlplane.core import health

pytestmark = pytest.mark.django_db(databases=["default", "metrics"], transaction=True)


@pytest.fixture(autouse=True)
def redis_answers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "no_redis" not in request.fixturenames:
        monkeypatch.setitem(health.LOOKS, "redis", health.Look(lambda: "ok"))


@pytest.fixture
def no_redis(settings: Settings) -> Iterator[None]:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        settings.SHOAL_REDIS_URL = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
        yield


def asked() -> tuple[int, dict[str, Any]]:
    answer = Client().get("/readyz")
    return answer.status_code, answer.json()


@pytest.mark.parametrize("path", ["/livez", "/healthz"])
def test_the_process_is_up_whatever_its_neighbours_do(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LOOKS", {})  # none is asked
    answer = Client().get(path)
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_it_is_ready_when_all_answer() -> None:
    checks = {"default": "ok", "metrics": "ok", "redis": "ok"}
    assert asked() == (200, {"ready": True, "degraded": False, "checks": checks})


def test_a_missing_redis_degrades_it_and_is_named(no_redis: None) -> None:
    """It answers REST all the same: a balancer that left it out would leave out every web."""
    code, body = asked()
    assert (code, body["ready"], body["degraded"]) == (200, True, True)
    assert (body["checks"]["default"], body["checks"]["metrics"]) == ("ok", "ok")
    assert body["checks"]["redis"].startswith("unreachable")


@pytest.mark.parametrize("alias", ["default", "metrics"])
def test_a_schema_of_before_makes_it_unready(alias: str) -> None:
    """New code on it answers 500: no request should come here before it is migrated."""
    rows = MigrationRecorder(connections[alias]).migration_qs
    row = rows.filter(app="operations").order_by("id").last()
    assert row is not None
    row.delete()
    try:
        code, body = asked()
    finally:
        MigrationRecorder(connections[alias]).record_applied(row.app, row.name)
    assert (code, body["ready"], body["degraded"]) == (503, False, False)
    assert body["checks"][alias] == (
        f"older than this program, `migrate` is due: operations.{row.name}"
    )


def test_a_schema_of_later_is_ready() -> None:
    """During an upgrade the programs of before go on beside it."""
    recorder = MigrationRecorder(connections["default"])
    recorder.record_applied("operations", "9999_of_tomorrow")
    try:
        assert asked()[0] == 200
    finally:
        recorder.record_unapplied("operations", "9999_of_tomorrow")


def test_a_database_that_refuses_makes_it_unready(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(MigrationRecorder, "applied_migrations", refuse)
    code, body = asked()
    assert (code, body["checks"]["default"]) == (503, "unreachable: connection refused")


def test_a_database_that_says_nothing_is_asked_once_and_told_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    speak, questions = threading.Event(), []

    def ask() -> str:
        questions.append(1)
        speak.wait()
        return "ok"

    monkeypatch.setattr(health, "LONGEST_S", 0.05)
    monkeypatch.setitem(health.LOOKS, "default", health.Look(ask))
    try:
        for _ in range(3):
            code, body = asked()
            assert (code, body["checks"]["default"]) == (
                503, "unreachable: no answer within 0.05 s",
            )  # fmt: skip
        assert questions == [1]
        monkeypatch.setattr(health, "LONGEST_S", 10.0)
    finally:
        speak.set()
    assert asked()[0] == 200
