"""Nodes, agents and runtimes that die, hang or are cut off."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psutil
import pytest

from tests.chaos.studio import ECHO, SLOW_TO_LOAD, python_model, until
from tests.chaos.system import Node, System
from tests.chaos.table import Case

MIB = 1 << 20
BALLAST = 24 * MIB


@pytest.mark.quick
def test_a_node_dies_while_serving(system: System, pair: dict[str, str], case: Case) -> None:
    """Node dies while serving."""
    studio, victim = system.studio, system.nodes["n2"]
    system.endpoint("dying", node_labels=pair, instance_count=2)
    with case.under(system.load("dying")) as load:
        victim.die()
        until(lambda: studio.serving("dying") == "Degraded", "the endpoint is degraded")
        until(
            lambda: (
                [r["node"] for r in studio.replicas("dying") if r["state"] == "ready"].count("n1")
                == 2
            ),
            "the replica was placed elsewhere",
        )
        load.more(40)
    assert load.lost <= 1, load.explain()  # what was in flight there, if it was being answered
    assert load.burst_s <= 1.0
    victim.start()
    system.online("n2")
    # why of this one: others may have lost their replicas there too late to have them elsewhere
    until(lambda: not victim.runtimes("dying"), "what was replaced does not run when it returns")
    studio.delete("dying")
    case.saw("Degraded, then its replica on another node; the returned node has stopped its own")


def test_a_node_dies_during_two_long_ingests(
    system: System, pair: dict[str, str], case: Case
) -> None:
    """Node dies while two models are taken in, which takes very long."""
    studio, victim = system.studio, system.nodes["n2"]
    system.endpoint("healing", node_labels=pair, instance_count=2)
    with ThreadPoolExecutor(2) as threads, held_inspections(system) as held:
        ingests = [threads.submit(studio.register, f"long-{name}") for name in "ab"]
        until(lambda: len(held) == 2, "both are being read")
        victim.die()
        until(
            lambda: (
                [r["node"] for r in studio.replicas("healing") if r["state"] == "ready"].count("n1")
                == 2
            ),
            "the replica was placed elsewhere",
        )
        assert not any(ingest.done() for ingest in ingests)
    assert [ingest.result() for ingest in ingests] == [1, 1]
    victim.start()
    system.online("n2")
    until(lambda: not victim.runtimes("healing"), "what was replaced does not run any more")
    studio.delete("healing")
    case.saw("healed as if nothing else were done; both models were taken in afterwards")


@contextmanager
def held_inspections(system: System) -> Iterator[dict[int, psutil.Process]]:
    """Every program that reads an upload is frozen as soon as it is seen, until this ends."""
    held: dict[int, psutil.Process] = {}
    ended = threading.Event()
    worker = system.child("-Q ingest")

    def hold() -> None:
        while not ended.wait(0.005):
            for child in worker.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    if child.pid not in held and "worker_runtime.inspection" in child.cmdline():
                        child.suspend()
                        held[child.pid] = child

    watching = threading.Thread(target=hold)
    watching.start()
    try:
        yield held
    finally:
        ended.set()
        watching.join()
        for child in held.values():
            with suppress(psutil.NoSuchProcess):
                child.resume()


def test_a_node_dies_mid_download(system: System, pair: dict[str, str], case: Case) -> None:
    """Node dies mid-download."""
    studio = system.studio
    weigh(system, "ballast-a")
    for node in pair_of(system):
        node.control.bytes_per_s = 1.5 * MIB
    try:
        operation = studio.deploy("interrupted", "ballast-a", node_labels=pair)
        victim = downloading(system, "interrupted")
        victim.die()
        for node in pair_of(system):
            node.control.bytes_per_s = 0
        studio.succeeded(operation, within_s=150)
    finally:
        for node in pair_of(system):
            node.control.bytes_per_s = 0
    assert ready_on(system, "interrupted") == [other_than(victim)]
    assert "replica.unknown" in studio.events("endpoint/interrupted")
    victim.start()
    system.online(victim.name)
    until(lambda: not list((victim.home / "node" / "replicas").iterdir()), "no orphan")
    studio.delete("interrupted")
    case.saw("unknown at 20 s, placed elsewhere, the same operation succeeded; no orphan")


def test_a_node_dies_mid_load(system: System, pair: dict[str, str], case: Case) -> None:
    """Node dies while the model loads."""
    studio = system.studio
    studio.register("slow-a", python_model("slow-a", SLOW_TO_LOAD), "slow-a.zip")
    operation = studio.deploy("loading", "slow-a", node_labels=pair)
    studio.reaches(operation, "load")
    victim = system.nodes[studio.replicas("loading")[0]["node"]]
    victim.die()
    studio.succeeded(operation, within_s=150)
    assert ready_on(system, "loading") == [other_than(victim)]
    victim.start()
    system.online(victim.name)
    until(lambda: not victim.runtimes(), "no orphan")
    studio.delete("loading")
    case.saw("placed elsewhere, the same operation succeeded")


def test_no_capacity_is_said_before_the_deadline(
    system: System, pair: dict[str, str], case: Case
) -> None:
    """Node dies mid-load and no other can take it."""
    studio = system.studio
    alone = system.label("alone", "n2")
    studio.register("slow-b", python_model("slow-b", SLOW_TO_LOAD), "slow-b.zip")
    operation = studio.deploy("nowhere", "slow-b", node_labels=alone)
    studio.reaches(operation, "load")
    system.nodes["n2"].die()
    ended = studio.finished(operation, within_s=180)
    assert ended["state"] == "Failed"
    assert ended["error"]["code"] == "OutOfCapacity"
    assert "n2" in ended["error"]["detail"]
    studio.delete("nowhere")
    case.saw(f"{ended['error']['code']}, long before the deadline")


def served_by(system: System, node: str, name: str) -> tuple[Any, int]:
    """An endpoint whose only replica runs on this node: the replica, and its runtime's process."""
    system.endpoint(name, node_labels=system.label(name, node))
    (replica,) = system.studio.replicas(name)
    return replica, system.nodes[node].runtimes()[replica["id"]]


def test_a_split_network(system: System, pair: dict[str, str], case: Case) -> None:
    """Agent and control plane cut apart, clients fine."""
    studio, node = system.studio, system.nodes["n1"]
    replica, pid = served_by(system, "n1", "split")
    with case.under(system.load("split")) as load:
        node.split()
        until(lambda: studio.replicas("split")[0]["state"] == "unknown", "unknown", 60)
        until(lambda: studio.node("n1")["state"] == "offline", "offline", 60)
        time.sleep(35)  # longer than the silence after which a replica counts as lost
        assert node.runtimes()[replica["id"]] == pid
        load.more(40)
        node.reunite()
        until(lambda: studio.replicas("split")[0]["state"] == "ready", "ready again", 60)
        load.more(40)
    assert node.runtimes()[replica["id"]] == pid
    assert load.lost == 0, load.explain()
    studio.delete("split")
    case.saw("unknown at 20 s, served on by the same process, ready again after")


@pytest.mark.quick
def test_an_agent_is_killed(system: System, pair: dict[str, str], case: Case) -> None:
    """Agent killed (SIGKILL), and started again."""
    studio, node = system.studio, system.nodes["n1"]
    replica, pid = served_by(system, "n1", "adopted")
    with case.under(system.load("adopted")) as load:
        node.kill_agent()
        load.more(60)
        node.start()
        until(lambda: "Adopting" in node.log[-4000:], "the next agent adopts")
        system.online("n1")
        load.more(40)
    assert node.runtimes()[replica["id"]] == pid
    assert load.lost == 0, load.explain()
    assert studio.replicas("adopted")[0]["restarts"] == 0
    studio.delete("adopted")
    case.saw("replicas were adopted, not restarted")


def test_two_agents_for_one_name(system: System, pair: dict[str, str], case: Case) -> None:
    """Second agent under the name of one that reports, on the same machine."""
    studio, node = system.studio, system.nodes["n1"]
    system.endpoint("contested", node_labels=system.label("contested", "n1"))
    home = system.folder / "thief"
    token = studio.send("POST", "/join-tokens")["token"]
    environment = {**node.environment, "SHOAL_HOME": str(home), "SHOAL_JOIN_TOKEN": token}
    thief = replace(node, home=home, environment=environment, process=None)
    with case.under(system.load("contested")) as load:
        thief.start()
        try:
            until(lambda: "The name n1 is taken" in thief.log, "refused")
            load.more(40)
            assert studio.node("n1")["state"] == "online"
            assert not (home / "node" / "credential.json").exists()
            assert "401" not in node.log[-2000:], "the first one is still believed"
        finally:
            thief.kill_agent()
    assert load.lost == 0, load.explain()
    studio.delete("contested")
    case.saw("refused while the first one reports, with what to do; the token is not used up")


def test_a_node_whose_folder_is_deleted(system: System, pair: dict[str, str], case: Case) -> None:
    """Node's data folder deleted while its agent runs and a replica serves."""
    studio, node = system.studio, system.nodes["n1"]
    replica, pid = served_by(system, "n1", "bereft")
    with case.under(system.load("bereft")) as load:
        shutil.rmtree(node.home / "node")
        until(lambda: node.runtimes().get(replica["id"]) == pid, "its journal is made again")
        node.kill_agent()
        node.start()
        until(lambda: "Adopting" in node.log[-4000:], "the next agent adopts")
        system.online("n1")
        load.more(40)
    assert node.runtimes()[replica["id"]] == pid
    assert load.lost == 0, load.explain()
    studio.delete("bereft")
    case.saw("made again from what the agent knows; served on, adopted by the next agent")


def test_a_runtime_that_keeps_dying(system: System, pair: dict[str, str], case: Case) -> None:
    """Runtime killed again and again."""
    studio, node = system.studio, system.nodes["n2"]
    system.endpoint("crashing", node_labels=pair, instance_count=2)
    (victim,) = (r["id"] for r in studio.replicas("crashing") if r["node"] == "n2")
    delays: list[float] = []
    with case.under(system.load("crashing")) as load:
        for _ in range(5):
            dead = node.runtimes()[victim]
            node.kill_runtime(victim)
            began = time.monotonic()
            until(
                lambda dead=dead: (
                    node.runtimes().get(victim, dead) != dead or _failed(system, victim)
                ),
                "a restart, or the end",
            )
            delays.append(time.monotonic() - began)
        until(lambda: _failed(system, victim), "given up")
        assert studio.serving("crashing") == "Degraded"
        load.more(40)
    (failed,) = (r for r in studio.replicas("crashing") if r["id"] == victim)
    assert failed["error"]["code"] == "CrashLoop"
    assert max(delays[2:]) > min(delays[:2]), f"pauses grow: {delays}"
    assert load.lost == 0, load.explain()
    studio.delete("crashing")
    case.saw(f"CrashLoop after 5, Degraded; pauses grew to {max(delays):.1f} s")


def test_a_runtime_that_hangs(system: System, pair: dict[str, str], case: Case) -> None:
    """Runtime stopped (SIGSTOP): alive, but answers nobody."""
    studio, node = system.studio, system.nodes["n2"]
    system.endpoint("hanging", node_labels=pair, instance_count=2)
    (victim,) = (r["id"] for r in studio.replicas("hanging") if r["node"] == "n2")
    pid = node.runtimes()[victim]
    with case.under(system.load("hanging")) as load:
        os.kill(pid, signal.SIGSTOP)
        until(lambda: node.runtimes().get(victim) not in (pid, None), "ended and started", 150)
        until(lambda: studio.serving("hanging") == "Healthy", "healthy again")
        load.more(40)
    assert load.lost <= 4, load.explain()  # those that it held when it stopped
    studio.delete("hanging")
    case.saw("left alone by the gateway, ended by its agent after 60 s; lost is what it held")


def _failed(system: System, replica_id: str) -> bool:
    replicas = system.studio.replicas("crashing")
    return any(r["id"] == replica_id and r["state"] == "failed" for r in replicas)


def ready_on(system: System, endpoint: str) -> list[str]:
    """The nodes of the replicas that are ready."""
    return sorted(r["node"] for r in system.studio.replicas(endpoint) if r["state"] == "ready")


def other_than(node: Node) -> str:
    return "n2" if node.name == "n1" else "n1"


def pair_of(system: System) -> list[Node]:
    return [system.nodes["n1"], system.nodes["n2"]]


def weigh(system: System, name: str) -> None:
    """Register a model whose download takes a while."""
    content = python_model(name, ECHO, ballast=os.urandom(BALLAST))
    system.studio.register(name, content, f"{name}.zip")


def downloading(system: System, endpoint: str) -> Node:
    """The node that has begun to fetch, and is not done."""

    def look() -> Node | None:
        for replica in system.studio.replicas(endpoint):
            if replica["state"] == "downloading" and replica["downloaded_bytes"] > 0:
                return system.nodes[replica["node"]]
        return None

    found = until(look, f"{endpoint} downloads")
    assert found is not None
    return found
