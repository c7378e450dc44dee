"""Changes under constant load: not one request fails (stateless model, retries on)."""

import pytest

from tests.chaos.studio import until
from tests.chaos.system import System
from tests.chaos.table import Case

RUNS = [
    pytest.param(1, marks=pytest.mark.quick, id="run1"),
    pytest.param(2, id="run2"),
    pytest.param(3, id="run3"),
]


@pytest.fixture(scope="module")
def steady(system: System) -> str:
    """Endpoint `steady`: blue with two replicas on n1 and n2, and green without traffic."""
    labels = system.label("pair", "n1", "n2")
    system.endpoint("steady", node_labels=labels, instance_count=2)
    studio = system.studio
    green = studio.deploy("steady", "tiny", name="green", node_labels=labels, traffic=0)
    studio.succeeded(green)
    return "steady"


def test_the_steady_endpoint_starts(system: System, steady: str, case: Case) -> None:
    """A stateless endpoint under constant load."""
    with case.under(system.load(steady)) as load:
        load.more(200)
    assert load.lost == 0, load.explain()


@pytest.mark.parametrize("run", RUNS)
def test_weights(system: System, steady: str, case: Case, run: int) -> None:
    """Weight changes under load."""
    studio = system.studio
    with case.under(system.load(steady)) as load:
        for percent in (10, 50, 90, 100, 30, 0):
            answer = studio.send(
                "PUT",
                "/endpoints/steady/traffic",
                {"traffic": {"blue": 100 - percent, "green": percent}},
            )
            assert answer["traffic"].get("green", 0) == percent
            until(lambda: studio.get("/endpoints/steady")["routed"], "gateways confirm")
            load.more(40)
    assert load.lost == 0, load.explain()
    assert load.deployments["green"] > 0
    case.saw(f"6 changes, green answered {load.deployments['green']}")


@pytest.mark.parametrize("run", RUNS)
def test_replicas_come_and_go(system: System, steady: str, case: Case, run: int) -> None:
    """Replicas added and removed under load."""
    studio = system.studio
    with case.under(system.load(steady)) as load:
        for count in (4, 2):
            path = "/endpoints/steady/deployments/blue"
            operation = studio.send("PATCH", path, {"instance_count": count})
            studio.succeeded(operation["id"])
            load.more(40)
        until(lambda: len(studio.replicas("steady")) == 2, "two replicas are left")
        load.more(40)
    assert load.lost == 0, load.explain()
    case.saw("2 to 4 replicas and back")


@pytest.mark.parametrize("run", RUNS)
def test_drain(system: System, steady: str, case: Case, run: int) -> None:
    """A node drained under load."""
    studio = system.studio
    name = studio.replicas("steady")[0]["node"]
    with case.under(system.load(steady)) as load:
        studio.send("POST", f"/nodes/{name}/drain", {"deadline_s": 120})
        until(lambda: (studio.node(name)["drain"] or {}).get("done"), f"{name} is empty")
        load.more(40)
    studio.send("POST", f"/nodes/{name}/uncordon")
    assert load.lost == 0, load.explain()
    assert {r["node"] for r in studio.replicas("steady")} == {"n1", "n2"} - {name}
    case.saw("its replicas got twins elsewhere first")


@pytest.mark.parametrize("run", RUNS)
def test_kill(system: System, steady: str, case: Case, run: int) -> None:
    """A replica killed (SIGKILL) under load, another one there."""
    studio = system.studio
    victim = next(r for r in studio.replicas("steady") if r["state"] == "ready")

    def came_back() -> bool:
        seen = {r["id"]: r for r in studio.replicas("steady")}[victim["id"]]
        return seen["state"] == "ready" and seen["restarts"] > victim["restarts"]

    with case.under(system.load(steady)) as load:
        system.nodes[victim["node"]].kill_runtime(victim["id"])
        until(came_back, "the killed replica is back")
        load.more(40)
    assert load.lost == 0, load.explain()
    case.saw("its agent started it again")
