"""Probes that flap: only answers in a row count, and nothing is restarted for ever."""

import json
import os
import signal
import time
from pathlib import Path

from tests.chaos.studio import until
from tests.chaos.system import System
from tests.chaos.table import Case

FLAPS = 8
STOPPED_S = 2.5  # one bad answer at least, of a probe every second with a time-out of one
RUNNING_S = 3.0  # one good one at least
BAD_IN_A_ROW = 6
GOOD_IN_A_ROW = 4


def test_liveness_flaps(system: System, pair: dict[str, str], case: Case) -> None:
    """Liveness probe flaps, then fails for good once."""
    studio, node = system.studio, system.nodes["n2"]
    probe = {"initial_delay": 0, "period": 1, "timeout": 1, "failure_threshold": BAD_IN_A_ROW}
    system.endpoint("unsteady", node_labels=pair, instance_count=2, liveness_probe=probe)
    victim, pid = victim_of(system, "unsteady")
    with case.under(system.load("unsteady")) as load:
        for _ in range(FLAPS):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(pid, signal.SIGCONT)
            time.sleep(RUNNING_S)
        assert node.runtimes()[victim] == pid, "more bad answers than allowed, but not in a row"
        assert restarts(system, "unsteady") == [0, 0]
        os.kill(pid, signal.SIGSTOP)
        until(lambda: node.runtimes().get(victim) not in (pid, None), "ended and started", 60)
        until(lambda: studio.serving("unsteady") == "Healthy", "healthy again")
        load.more(40)
    assert restarts(system, "unsteady") == [0, 1]
    assert f"failed its liveness probe {BAD_IN_A_ROW} times in a row" in agent_log(system, victim)
    assert load.lost <= 4, load.explain()  # what it held when it stopped for good
    studio.delete("unsteady")
    case.saw(f"{FLAPS} flaps: left alone; {BAD_IN_A_ROW} bad answers in a row: one restart, ready")


def test_readiness_flaps(system: System, pair: dict[str, str], case: Case) -> None:
    """Readiness probe flaps."""
    studio = system.studio
    probe = {
        "initial_delay": 0, "period": 1, "timeout": 1,
        "failure_threshold": 2, "success_threshold": GOOD_IN_A_ROW,
    }  # fmt: skip
    system.endpoint("moody", node_labels=pair, instance_count=2, readiness_probe=probe)
    victim, pid = victim_of(system, "moody")
    port = port_of(system, victim)
    waits = []
    with case.under(system.load("moody")) as load:
        until(lambda: served_by(system, port), "both replicas serve")
        for _ in range(3):
            os.kill(pid, signal.SIGSTOP)
            load.more(40)  # the callers that it held have given up, and go elsewhere
            os.kill(pid, signal.SIGCONT)
            since = time.time()
            until(lambda since=since: served_by(system, port, since), "it serves again")
            waits.append(served_by(system, port, since)[0] - since)
    assert system.nodes["n2"].runtimes()[victim] == pid
    assert restarts(system, "moody") == [0, 0]
    # From the first good answer to the last that is needed, less what clocks and logs blur.
    assert min(waits) > GOOD_IN_A_ROW - 2, waits
    assert load.lost <= 4 * 3, load.explain()  # what it held when it stopped, each time
    studio.delete("moody")
    case.saw(f"no traffic until {GOOD_IN_A_ROW} good answers: after {min(waits):.1f} s; no restart")


def victim_of(system: System, endpoint: str) -> tuple[str, int]:
    """The replica on n2, and its runtime's process."""
    (found,) = (r["id"] for r in system.studio.replicas(endpoint) if r["node"] == "n2")
    return found, system.nodes["n2"].runtimes()[found]


def restarts(system: System, endpoint: str) -> list[int]:
    return sorted(replica["restarts"] for replica in system.studio.replicas(endpoint))


def folder_of(system: System, replica_id: str) -> Path:
    return system.nodes["n2"].home / "node" / "replicas" / replica_id


def agent_log(system: System, replica_id: str) -> str:
    return (folder_of(system, replica_id) / "agent.log").read_text()


def port_of(system: System, replica_id: str) -> int:
    return int(json.loads((folder_of(system, replica_id) / "ready.json").read_text())["http_port"])


def served_by(system: System, port: int, since: float = 0.0) -> list[float]:
    """When the requests began that this replica answered well, by the gateway's log."""
    lines = (system.product.home / "gateway" / "access.log").read_text().splitlines()
    columns = [line.split("\t") for line in lines if f":{port}\t" in line]
    return [
        float(began)
        for began, _, _, host, _, code, *_ in columns
        if host.endswith(f":{port}") and code == "200" and float(began) >= since
    ]
