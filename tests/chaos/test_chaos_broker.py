"""The broker carries hints: dead, frozen, flushed or lying, it slows and never breaks."""

import os
import shutil
import signal

import pytest
from celery import Celery

from tests.chaos.studio import Studio, until
from tests.chaos.system import System
from tests.chaos.table import Case

FROZEN_S = 60.0


@pytest.mark.quick
def test_the_broker_is_killed_mid_deploy(system: System, pair: dict[str, str], case: Case) -> None:
    """Broker killed (SIGKILL) in the middle of a deployment."""
    studio = system.studio
    system.endpoint("woken", node_labels=pair)
    redis = system.child("redis-server").pid
    with case.under(system.load("woken")) as load:
        operation = studio.deploy("woken-b", "tiny", node_labels=pair)
        system.kill_child("redis-server")
        studio.succeeded(operation)
        system.comes_back("redis-server", redis)
        system.ready()
        load.more(40)
    assert load.lost == 0, load.explain()
    placed = studio.events("endpoint/woken-b").count("replica.placed")
    assert placed == 1
    for name in ("woken", "woken-b"):
        studio.delete(name)
    case.saw("the deployment succeeded, and was done once")


def test_the_broker_is_flushed(system: System, pair: dict[str, str], case: Case) -> None:
    """Broker flushed and every connection cut, in the middle of a deployment."""
    studio = system.studio
    system.endpoint("flushed", node_labels=pair)
    with case.under(system.load("flushed")) as load:
        operation = studio.deploy("flushed-b", "tiny", node_labels=pair)
        # why not FLUSHALL: nobody may, of those who can sign in
        for files in (system.product.home / "redis").glob("*/appendonly*"):
            shutil.rmtree(files) if files.is_dir() else files.unlink()
        system.child("redis-server").kill()
        studio.succeeded(operation)
        again = studio.deploy("flushed-c", "tiny", node_labels=pair)
        studio.succeeded(again)
        load.more(40)
    assert load.lost == 0, load.explain()
    for name in ("flushed", "flushed-b", "flushed-c"):
        studio.delete(name)
    case.saw("both deployments succeeded")


@pytest.mark.quick
def test_a_frozen_broker(system: System, pair: dict[str, str], case: Case) -> None:
    """Broker frozen (SIGSTOP) for a whole deployment."""
    studio = system.studio
    system.endpoint("frozen", node_labels=pair)
    redis = system.child("redis-server")
    with case.under(system.load("frozen")) as load:
        redis.send_signal(signal.SIGSTOP)
        try:
            operation = studio.deploy("frozen-b", "tiny", node_labels=pair)
            studio.succeeded(operation, within_s=FROZEN_S)
            until(lambda: said(studio) == "warning", "the studio says that Redis is away")
        finally:
            redis.send_signal(signal.SIGCONT)
        until(lambda: said(studio) == "ok", "and that it is back")
        system.ready()
        load.more(40)
    assert load.lost == 0, load.explain()
    for name in ("frozen", "frozen-b"):
        studio.delete(name)
    case.saw("nodes poll and report: it succeeded without wake-ups")


def said(studio: Studio) -> str:
    """What the page System says of Redis."""
    parts = studio.get("/system")["parts"]
    return next(str(part["state"]) for part in parts if part["name"] == "Redis")


def test_tasks_come_twice_late_and_out_of_order(
    system: System, pair: dict[str, str], case: Case
) -> None:
    """Celery tasks delivered twice, late and out of order."""
    studio = system.studio
    url = system.redis_url(system.redis_port)
    control = Celery("test", broker=url, set_as_current=False)
    operation = studio.deploy("doubled", "tiny", node_labels=system.label("doubled", "n1"))
    for _ in range(75):
        control.send_task("deployments.reconcile", queue="control")
        control.send_task("nodes.expire", queue="control")
    control.close()
    studio.succeeded(operation)
    events = studio.events("endpoint/doubled")
    assert events.count("replica.placed") == 1
    assert events.count("replica.ready") == 1
    (replica,) = studio.replicas("doubled")
    assert (replica["generation"], replica["restarts"]) == (1, 0)
    studio.delete("doubled")
    case.saw("150 tasks too many; placed once, started once")


def test_the_worker_is_frozen(system: System, pair: dict[str, str], case: Case) -> None:
    """Celery worker frozen (SIGSTOP) for a whole deployment."""
    studio = system.studio
    system.endpoint("orphaned", node_labels=pair)
    worker = system.child("-Q control")
    with case.under(system.load("orphaned")) as load:
        os.killpg(worker.pid, signal.SIGSTOP)
        try:
            operation = studio.deploy("orphaned-b", "tiny", node_labels=pair)
            studio.succeeded(operation, within_s=FROZEN_S)
        finally:
            os.killpg(worker.pid, signal.SIGCONT)
        load.more(40)
    assert load.lost == 0, load.explain()
    for name in ("orphaned", "orphaned-b"):
        studio.delete(name)
    case.saw("node reports alone carried it to its end")


def test_the_worker_is_killed(system: System, pair: dict[str, str], case: Case) -> None:
    """Celery worker and its clock killed (SIGKILL) while a model is taken in."""
    studio = system.studio
    names = (" beat ", "-Q control", "-Q ingest")
    before = {name: system.child(name).pid for name in names}
    for name in names:
        system.kill_child(name)
    studio.register("taken-in")
    for name in names:
        system.comes_back(name, before[name])
    until(lambda: studio.patiently("/models/taken-in"), "the model is there")
    case.saw("restarted; the upload was taken in")


def test_the_worker_goes_deaf(system: System, case: Case) -> None:
    """Celery worker loses its consumers silently."""
    control = Celery("test", broker=system.redis_url(system.redis_port), set_as_current=False)
    before = {queue: system.child(f"-Q {queue}").pid for queue in ("control", "ingest")}
    for queue in before:
        control.control.cancel_consumer(queue)
    control.close()
    took = max(system.comes_back(f"-Q {queue}", pid, within_s=200) for queue, pid in before.items())
    system.studio.register("heard-again")
    case.saw(f"ended itself and was started again after {took:.0f} s")
