"""Parts of the control plane die; what serves does not notice, what was begun is finished."""

import os
import signal

import pytest

from tests.chaos.studio import ECHO, python_model, until
from tests.chaos.system import System
from tests.chaos.table import Case

MIB = 1 << 20


def slow_deployment(system: System, pair: dict[str, str], name: str) -> str:
    """A deployment that downloads for some seconds; returns its operation."""
    for node in ("n1", "n2"):
        system.nodes[node].control.bytes_per_s = 2 * MIB
    content = python_model(name, ECHO, ballast=os.urandom(12 * MIB))
    system.studio.register(name, content, f"{name}.zip")
    operation = system.studio.deploy(name, name, node_labels=pair)
    system.studio.reaches(operation, "download")
    return operation


def fast_again(system: System) -> None:
    for node in ("n1", "n2"):
        system.nodes[node].control.bytes_per_s = 0


@pytest.mark.quick
def test_everything_of_the_control_plane_dies_mid_deploy(
    system: System, pair: dict[str, str], case: Case
) -> None:
    """Web, agents' port, worker and clock killed together in the middle of a download."""
    studio = system.studio
    system.endpoint("served-on", node_labels=pair)
    operation = slow_deployment(system, pair, "resumed")
    words = ("web_server", "agent_server", "-Q control", "-Q ingest", " beat ")
    before = {word: system.child(word).pid for word in words}
    with case.under(system.load("served-on")) as load:
        for word in words:
            system.kill_child(word)
        for word in words:
            system.comes_back(word, before[word])
        system.ready()
        ended = studio.succeeded(operation)
        load.more(40)
    fast_again(system)
    assert load.lost == 0, load.explain()
    events = studio.events("endpoint/resumed")
    assert events.count("replica.placed") == 1, events
    assert [stage["status"] for stage in ended["stages"]] == ["succeeded"] * len(ended["stages"])
    for name in ("served-on", "resumed"):
        studio.delete(name)
    case.saw("the same operation went on at its stage and succeeded")


def test_the_web_process_hangs(system: System, pair: dict[str, str], case: Case) -> None:
    """Web process and agents' port frozen (SIGSTOP) for 25 s."""
    studio = system.studio
    system.endpoint("unasked", node_labels=pair)
    asked = system.asked()
    with case.under(system.load("unasked")) as load:
        for process in asked:
            process.send_signal(signal.SIGSTOP)
        signal.sigtimedwait([], 25)
        for process in asked:
            process.send_signal(signal.SIGCONT)
        system.ready()
        until(lambda: studio.serving("unasked") == "Healthy", "healthy")
        load.more(40)
    assert load.lost == 0, load.explain()
    assert studio.events("endpoint/unasked").count("replica.placed") == 1
    studio.delete("unasked")
    case.saw("nothing was moved for a silence that was ours")


def test_the_gateway_agent_is_killed(system: System, pair: dict[str, str], case: Case) -> None:
    """Gateway agent killed (SIGKILL) during changes of traffic."""
    studio = system.studio
    system.endpoint("steered", node_labels=pair)
    studio.succeeded(studio.deploy("steered", "tiny", name="green", node_labels=pair, traffic=0))
    agent = system.child("gateway.agent").pid
    with case.under(system.load("steered")) as load:
        system.kill_child("gateway.agent")
        traffic = {"traffic": {"blue": 50, "green": 50}}
        studio.send("PUT", "/endpoints/steered/traffic", traffic)
        system.comes_back("gateway.agent", agent)
        until(lambda: studio.get("/endpoints/steered")["routed"], "confirmed")
        load.more(80)
    assert load.lost == 0, load.explain()
    assert load.deployments["green"] > 0
    studio.delete("steered")
    case.saw("its successor applied the change")


def test_the_gateway_is_killed(system: System, pair: dict[str, str], case: Case) -> None:
    """Gateway itself killed (SIGKILL), the control plane frozen."""
    studio = system.studio
    system.endpoint("returned", node_labels=pair)
    envoy, asked = system.child("envoy").pid, system.asked()
    with case.under(system.load("returned")) as load:
        for process in asked:
            process.send_signal(signal.SIGSTOP)
        system.kill_child("envoy")
        system.comes_back("envoy", envoy)
        answered = load.seen["200"]
        until(lambda: load.seen["200"] > answered + 100, "it serves again")
        for process in asked:
            process.send_signal(signal.SIGCONT)
    gap = load.burst_s
    assert gap < 10
    system.ready()
    studio.delete("returned")
    case.saw(f"served again after {gap:.1f} s, from its files alone: one gateway is one gateway")
