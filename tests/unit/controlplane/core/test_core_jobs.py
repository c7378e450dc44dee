"""A dead broker delays background work; it does not hold up the call that asked for it."""

import asyncio
import contextlib
import socket
import threading

import pytest
from celery import current_app
from django.db import connection, transaction
from kombu.exceptions import OperationalError

from controlplane.core import events, fanout, jobs
from controlplane.core.breaker import Breaker


def test_a_broker_that_hangs_up_is_left_after_few_tries() -> None:
    tries = 0
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            nonlocal tries
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()
                    tries += 1

        thread = threading.Thread(target=hang_up)
        thread.start()
        broker = current_app.connection_for_write(
            url=f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        )
        with contextlib.suppress(OperationalError):
            broker.default_channel.queue_declare("control")
        broker.release()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    # kombu's own default is 100 tries over minutes; redis-py dials up to twice for each of ours.
    assert 1 <= tries <= 8


@pytest.mark.django_db(transaction=True)
def test_after_a_failure_nobody_waits_for_the_broker_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[str] = []
    now = [100.0]

    def refuse(name: str, **_: object) -> None:
        tries.append(name)
        raise OperationalError("no answer")

    monkeypatch.setattr(current_app, "send_task", refuse)
    monkeypatch.setattr(jobs, "broker", Breaker(rest_s=5.0, clock=lambda: now[0]))
    for name in ("first", "second"):
        with transaction.atomic():
            jobs.enqueue_on_commit(name)
    assert tries == ["first"]
    now[0] += 5.0
    with transaction.atomic():
        jobs.enqueue_on_commit("third")
    assert tries == ["first", "third"]


@pytest.mark.django_db(transaction=True)
def test_a_transaction_sends_equal_hints_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, dict[str, object]]] = []

    class Layer:
        async def group_send(self, group: str, hint: dict[str, object]) -> None:
            sent.append((group, hint))

    def record(subject: str, times: int = 1) -> None:
        for _ in range(times):
            events.record(actor="ada", verb="thing.done", subject=subject, message="done")

    monkeypatch.setattr(fanout, "get_channel_layer", Layer)
    with transaction.atomic():
        with contextlib.suppress(ValueError), transaction.atomic():
            record("thing/1")
            raise ValueError("this savepoint is rolled back, with its hint")
        record("thing/1", 2)
        with transaction.atomic():
            record("thing/1")
            record("thing/2", 2)
        record("thing/2")
    assert [(group, hint["subject"]) for group, hint in sent] == [
        ("events", "thing/1"), ("events", "thing/2"), ("events", "thing/2"),
    ]  # fmt: skip
    record("thing/1", 2)
    assert len(sent) == 5, "without a transaction each is sent as it happens"


@pytest.mark.django_db(transaction=True)
def test_hints_of_a_transaction_go_out_together_and_a_thread_may_keep_their_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    class Layer:
        async def group_send(self, group: str, hint: dict[str, object]) -> None:
            loops.append(asyncio.get_running_loop())

    monkeypatch.setattr(fanout, "get_channel_layer", Layer)

    def transactions(kept: bool) -> None:
        if kept:
            fanout.keep_loop()
        for _ in range(2):
            with transaction.atomic():
                for number in range(3):
                    fanout.send_on_commit("events", {"type": "x", "number": number})
        connection.close()

    def different(kept: bool) -> int:
        loops.clear()
        thread = threading.Thread(target=transactions, args=(kept,))
        thread.start()
        thread.join()
        assert len(loops) == 6
        return len(set(loops))

    assert different(kept=False) == 2, "one for each transaction"
    assert different(kept=True) == 1
    assert loops[0].is_closed(), "it ends with its thread"


@pytest.mark.django_db(transaction=True)
def test_a_frozen_fan_out_holds_up_no_write_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    class Frozen:
        async def group_send(self, group: str, hint: dict[str, object]) -> None:
            tries.append(group)
            await asyncio.Event().wait()

    monkeypatch.setattr(fanout, "get_channel_layer", Frozen)
    monkeypatch.setattr(fanout, "SEND_S", 0.05)
    monkeypatch.setattr(fanout, "redis", Breaker(rest_s=60.0))
    for _ in range(3):
        with transaction.atomic():
            events.record(actor="ada", verb="thing.done", subject="thing/1", message="done")
    assert tries == ["events"]
