"""What decides by itself while what it decides on goes missing, lies, or changes under it."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from tests.chaos.studio import SLOW_TO_LOAD, python_model, until
from tests.chaos.system import System
from tests.chaos.table import Case

FOLLOWS = {
    "min": 1,
    "max": 4,
    "targets": {"in_flight": 8},
    "up": {"cooldown_s": 1},
    "down": {"window_s": 5, "cooldown_s": 1},
}
WATCHED_S = 15.0
ROUNDS = 3
HALF = {"deployment": "green", "min_requests": 50, "steps": [{"percent": 50, "hold_s": 3},
        {"percent": 100, "hold_s": 0}]}  # fmt: skip
LONG = {**HALF, "steps": [{"percent": 50, "hold_s": 600}, {"percent": 100, "hold_s": 0}]}
# One whose clock goes as far ahead as a file beside it says.
JUMPING_CLOCK = """
import os, pathlib, runpy, time
now, ahead = time.time, pathlib.Path(os.environ["SHOAL_HOME"]) / "ahead"
time.time = lambda: now() + float(ahead.read_text())
runpy.run_module("node_agent", run_name="__main__")
"""


@pytest.fixture
def twin(system: System, pair: dict[str, str]) -> str:
    """Endpoint `twin`: blue with all of the traffic, and the same as green with none."""
    system.endpoint("twin", node_labels=pair)
    studio = system.studio
    studio.succeeded(studio.deploy("twin", "tiny", name="green", node_labels=pair, traffic=0))
    return "twin"


def begun(system: System, plan: dict[str, Any]) -> str:
    """The path of a rollout of `twin` that has just begun."""
    made = system.studio.send("POST", "/endpoints/twin/rollouts", plan)
    return f"/endpoints/twin/rollouts/{made['id']}"


def ended(system: System, rollout: str) -> Any:
    def look() -> Any:
        shown = system.studio.patiently(rollout)
        return shown if shown and shown["finished_at"] else None

    return until(look, f"{rollout} has ended")


def at_once(system: System, method: str, *calls: tuple[str, Any]) -> list[int]:
    """The statuses of these calls (path, body) at one moment."""
    together = Barrier(len(calls))

    def send(call: tuple[str, Any]) -> int:
        together.wait()
        return system.studio.http.request(method, call[0], json=call[1]).status_code

    with ThreadPoolExecutor(len(calls)) as people:
        return list(people.map(send, calls))


def reason(system: System, endpoint: str) -> str:
    """What the last decision on it says."""
    return str((system.studio.deployment(endpoint)["autoscaling"] or {}).get("reason", ""))


def test_metrics_of_replicas_stop(system: System, pair: dict[str, str], case: Case) -> None:
    """Metrics stop, and the load with them: no replica goes."""
    studio = system.studio
    system.endpoint("blind", node_labels=system.label("blind", "n1"), instance_count=2)
    path = "/endpoints/blind/deployments/blue"
    with case.under(system.load("blind")) as load:
        load.more(100)
        system.nodes["n1"].split()
        try:
            studio.send("PATCH", path, {"autoscale": FOLLOWS})
            until(lambda: "measured" in reason(system, "blind"), "it says that nothing is measured")
            said = reason(system, "blind")
            time.sleep(WATCHED_S)  # longer than down.window_s, shorter than what gives a node up
            assert studio.deployment("blind")["instance_count"] == 2
        finally:
            system.nodes["n1"].reunite()
        load.more(100)
    until(lambda: studio.deployment("blind")["instance_count"] == 1, "with samples one goes", 60)
    assert load.lost == 0, load.explain()
    assert studio.events("endpoint/blind").count("deployment.autoscaled") == 1
    studio.delete("blind")
    case.saw(f"2 replicas stayed ({said}); with samples again one went")


def test_metrics_of_gateways_stop(system: System, twin: str, case: Case) -> None:
    """Metrics of the gateway stop during a rollout: it holds, and goes on with them."""
    studio = system.studio
    with case.under(system.load(twin)) as load:
        agent = system.child("controlplane.gateway.agent")
        rollout = begun(system, HALF | {"min_requests": 1_000})
        load.more(100)
        agent.suspend()
        try:
            held = until(
                lambda: (shown := studio.get(rollout))["cause"] == "no_samples" and shown,
                "held",
                60,
            )
            assert (held["state"], held["percent"]) == ("Running", 50)
            load.more(1_000)
            assert studio.get(rollout)["percent"] == 50
        finally:
            agent.resume()
        assert ended(system, rollout)["state"] == "Succeeded"
    assert load.lost == 0, load.explain()
    studio.delete(twin)
    case.saw("held at 50 % as no_samples while 1,000 requests were answered; then Succeeded")


@pytest.mark.parametrize(
    ("name", "ahead_s"), [("hours-on", 3600.0), ("some-back", -3.0), ("minutes-back", -90.0)]
)
def test_a_clock_jumps(system: System, case: Case, name: str, ahead_s: float) -> None:
    """The clock of a node jumps under a policy."""
    studio, node = system.studio, system.new_node(name)
    node.program = ("-c", JUMPING_CLOCK)
    node.home.mkdir(parents=True, exist_ok=True)
    ahead = node.home / "ahead"
    ahead.write_text("0")
    node.start()
    try:
        system.online(name)
        system.endpoint("punctual", node_labels=system.label(name, name), autoscale=FOLLOWS)
        with case.under(system.load("punctual")) as load:
            load.more(2_000)  # of a life: what a replica that starts anew would count
            (before,) = [r["id"] for r in studio.replicas("punctual")]
            fresh = node.home / "ahead.new"
            fresh.write_text(str(ahead_s))
            fresh.replace(ahead)
            deadline = time.monotonic() + WATCHED_S
            while time.monotonic() < deadline:
                assert studio.deployment("punctual")["instance_count"] == 1, reason(
                    system, "punctual"
                )
                load.more(20)
            until(lambda: "in flight" in reason(system, "punctual"), "it is measured again")
        assert [r["id"] for r in studio.replicas("punctual")] == [before]
        assert "deployment.autoscaled" not in studio.events("endpoint/punctual")
        assert load.lost == 0, load.explain()
        studio.delete("punctual")
        case.saw(f"{ahead_s:+.0f} s: nothing was decided on it, and it was measured on")
    finally:
        system.remove_node(name)


@pytest.mark.parametrize("serving", [False, True], ids=["a new one", "all that serves"])
def test_an_agent_is_lost_in_a_scale_up(
    system: System, pair: dict[str, str], case: Case, serving: bool
) -> None:
    """Node is lost in the middle of a scale-up that a policy decided."""
    studio = system.studio
    studio.register("ponderous", python_model("ponderous", SLOW_TO_LOAD), "ponderous.zip")
    studio.succeeded(studio.deploy("growing", "ponderous", node_labels=pair))
    first = studio.replicas("growing")[0]["node"]
    other = "n2" if first == "n1" else "n1"
    victim, left = system.nodes[first if serving else other], other if serving else first

    def seen() -> list[tuple[str, str]]:
        return [(one["node"], one["state"]) for one in studio.replicas("growing")]

    path = "/endpoints/growing/deployments/blue"
    with case.under(system.load("growing", "ponderous")) as load:
        studio.send("PATCH", path, {"autoscale": {**FOLLOWS, "min": 3}})
        until(lambda: (other, "loading") in seen(), "a replica loads on the other node", 60)
        victim.die()
        # the one of the lost node stays unknown until that returns, or is removed
        until(lambda: seen().count((left, "ready")) == 3, f"three serve on {left}")
        load.more(40)
    if not serving:
        assert load.lost == 0, load.explain()
    until(lambda: studio.deployment("growing")["provisioning_state"] == "Succeeded", "it settles")
    assert studio.deployment("growing")["instance_count"] == 3
    victim.start()
    system.online(victim.name)
    studio.delete("growing")
    lost = "all that served" if serving else "a replica that loaded"
    case.saw(f"{lost} went with it; 3 replicas on the node that is left")


def test_an_agent_is_lost_in_a_rollout_step(system: System, twin: str, case: Case) -> None:
    """Agent of the candidate's node is lost in the middle of a rollout's step."""
    studio = system.studio
    (candidate,) = studio.replicas(twin, "green")
    node = system.nodes[candidate["node"]]
    with case.under(system.load(twin)) as load:
        rollout = begun(system, HALF | {"min_requests": 10_000})
        node.kill_agent()
        held = until(
            lambda: "heard" in (shown := studio.get(rollout))["reason"] and shown, "it holds", 90
        )
        assert (held["state"], held["percent"]) == ("Running", 50), held
        node.start()
        system.online(node.name)
        until(lambda: "heard" not in studio.get(rollout)["reason"], "it goes on", 60)
        studio.send("POST", f"{rollout}/promote")
        load.more(40)
    assert ended(system, rollout)["state"] == "Succeeded"
    assert load.lost == 0, load.explain()
    studio.delete(twin)
    case.saw(f"held ({held['reason']}); judged again with the agent")


def test_two_operators_end_a_rollout(system: System, twin: str, case: Case) -> None:
    """One operator promotes a rollout while another aborts it."""
    studio, winners = system.studio, []
    for _ in range(ROUNDS):
        rollout = begun(system, LONG)
        codes = at_once(system, "POST", (f"{rollout}/promote", None), (f"{rollout}/abort", None))
        assert sorted(codes) == [200, 409], codes
        shown = studio.get(rollout)
        winner = "promote" if codes[0] == 200 else "abort"
        assert shown["state"] == {"promote": "Succeeded", "abort": "Aborted"}[winner]
        wanted = {"promote": {"green": 100}, "abort": {"blue": 100}}[winner]
        assert studio.get(f"/endpoints/{twin}")["traffic"] == wanted
        told = studio.get(f"/events?subject=endpoint/{twin}&limit=50")["items"]
        ends = [one["verb"] for one in told if one["data"].get("rollout") == shown["id"]
                and one["verb"] in ("rollout.succeeded", "rollout.aborted")]  # fmt: skip
        assert len(ends) == 1, ends
        winners.append(winner)
        studio.send("PUT", f"/endpoints/{twin}/traffic", {"traffic": {"blue": 100}})
    studio.delete(twin)
    case.saw(f"200 and 409 each time; {', '.join(winners)}")


def test_a_person_scales_while_a_policy_decides(
    system: System, pair: dict[str, str], case: Case
) -> None:
    """A person scales by hand while a policy decides otherwise."""
    studio = system.studio
    system.endpoint("torn", node_labels=pair)
    path = "/endpoints/torn/deployments/blue"
    answers: list[int] = []
    with case.under(system.load("torn")) as load:
        for number in range(ROUNDS):
            least = 1 + number % 2
            policy = {"autoscale": {**FOLLOWS, "min": least, "max": 3}}
            answers += at_once(system, "PATCH", (path, policy), (path, {"instance_count": 3}))
            load.more(20)
        until(
            lambda: (
                studio.deployment("torn")["provisioning_state"] == "Succeeded"
                and len(studio.replicas("torn")) == studio.deployment("torn")["instance_count"]
            ),
            "what was asked for last is there",
        )
    assert set(answers) <= {200, 202, 409}, answers
    shown = studio.deployment("torn")
    assert 1 <= shown["instance_count"] <= 3
    assert {r["state"] for r in shown["replicas"]} == {"ready"}
    operations = studio.get("/operations?endpoint=torn&limit=100")["items"]
    assert {one["state"] for one in operations} <= {"Succeeded", "Canceled"}
    assert load.lost == 0, load.explain()
    studio.delete("torn")
    case.saw(f"{len(answers)} changes, {answers.count(409)} refused; as many replicas as counted")


def test_a_rollout_during_a_drain(system: System, twin: str, case: Case) -> None:
    """The node of both versions is drained during a rollout."""
    studio = system.studio
    with case.under(system.load(twin)) as load:
        rollout = begun(system, HALF | {"min_requests": 1_500})
        (candidate,) = studio.replicas(twin, "green")
        name = candidate["node"]
        studio.send("POST", f"/nodes/{name}/drain", {"deadline_s": 120})
        until(lambda: (studio.node(name)["drain"] or {}).get("done"), f"{name} is empty")
        shown = ended(system, rollout)
        load.more(40)
    assert shown["state"] == "Succeeded", shown["reason"]
    assert load.lost == 0, load.explain()
    for version in ("blue", "green"):
        assert name not in {r["node"] for r in studio.replicas(twin, version)}
    studio.send("POST", f"/nodes/{name}/uncordon")
    studio.delete(twin)
    case.saw(f"{name} was emptied, the rollout went on to its end")
