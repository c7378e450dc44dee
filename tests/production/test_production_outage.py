"""What serving needs nobody for: control plane, broker and database are away for a while."""

import os
import time

import pytest

from tests.chaos.studio import until
from tests.production.calls import Calls, CallsCase
from tests.production.installed import NODES, Installed

OUTAGE_S = float(os.environ.get("PROD_TEST_OUTAGE_S", "60"))
CONTROL = ("web", "agents", "worker", "ingest", "beat")
pytestmark = pytest.mark.timeout(300 + OUTAGE_S)


def pass_by(calls: Calls, began: float) -> None:
    """Until the outage has lasted as long as it shall, while calls come back."""
    while time.monotonic() < began + OUTAGE_S:
        calls.more(50)


def goes_on(installed: Installed, name: str) -> None:
    """A change is made as ever, and nothing of ``name`` was moved."""
    studio = installed.studio
    until(lambda: studio.patiently(f"/endpoints/{name}") is not None, "REST answers")
    until(lambda: studio.serving(name) == "Healthy", "healthy")
    installed.endpoint("afterwards", instance_count=2)
    studio.delete("afterwards")
    assert studio.events(f"endpoint/{name}").count("replica.placed") == NODES


def test_database_and_broker_are_away(installed: Installed, case: CallsCase) -> None:
    """PostgreSQL and Redis killed, and away for a while; the control plane's pods stay."""
    beside, cluster = installed.neighbours, installed.cluster
    installed.endpoint("served-alone", instance_count=NODES)
    before = len(cluster.restarts())
    with case.under(installed.calls("served-alone")) as calls:
        began = time.monotonic()
        beside.postgres.kill()
        beside.redis.kill()
        pass_by(calls, began)
        assert installed.studio.http.get("/endpoints").status_code == 503
        beside.postgres.start_again()
        beside.redis.start()
        goes_on(installed, "served-alone")
        calls.more(100)
    installed.studio.delete("served-alone")
    assert calls.lost == 0, calls.explain()
    case.saw(f"{OUTAGE_S:.0f} s; started again: {cluster.restarts()[before:] or 'nothing'}")


def test_all_of_the_control_plane_is_away(installed: Installed, case: CallsCase) -> None:
    """Control plane, broker and database killed and away; a replica dies meanwhile."""
    studio, beside, cluster = installed.studio, installed.neighbours, installed.cluster
    installed.endpoint("served-on-alone", instance_count=NODES)
    (dies, *_) = installed.hosts("served-on-alone")
    runtimes = installed.runtimes(dies)
    pods = [pod for kind in CONTROL for pod in cluster.of(kind)]
    with case.under(installed.calls("served-on-alone")) as calls:
        began = time.monotonic()
        for pod in pods:
            pod.vanish()
        beside.postgres.kill()
        beside.redis.kill()
        with calls.killing():
            for process in runtimes:
                process.kill()
        until(lambda: installed.runtimes(dies), "the agent alone started its replica again")
        pass_by(calls, began)
        beside.postgres.start_again()
        beside.redis.start()
        cluster.await_ready([cluster.create(pod.kind) for pod in pods])
        goes_on(installed, "served-on-alone")
        calls.more(100)
    studio.delete("served-on-alone")
    assert calls.unexcused == 0, calls.explain()
    assert calls.in_flight <= calls.at_once
    case.saw(f"{OUTAGE_S:.0f} s; a replica that died was back before the control plane")
