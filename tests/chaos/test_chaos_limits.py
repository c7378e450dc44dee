"""One caller floods an endpoint that has limits; the endpoint beside it notices nothing."""

import pytest

from tests.chaos.flood import CALLERS, Flood
from tests.chaos.studio import ECHO, python_model, until
from tests.chaos.system import System
from tests.chaos.table import Case

PACE = 10
LIMITS = {
    "rate_limit": {"requests_per_second": PACE, "burst": PACE, "per": "endpoint"},
    "max_request_bytes": 65_536,
}
WINDOW_S = 5.0
SLOW = ECHO.replace(
    "    def execute(self, requests):\n",
    "    def execute(self, requests):\n        import time\n        time.sleep(0.2)\n",
)


@pytest.fixture(scope="module")
def beside(system: System) -> str:
    """The neighbour: on the same nodes and behind the same gateway."""
    system.endpoint("beside", node_labels=system.label("pair", "n1", "n2"), instance_count=2)
    return "beside"


@pytest.fixture(scope="module")
def unlimited(system: System) -> str:
    system.endpoint("limited", node_labels=system.label("pair", "n1", "n2"), instance_count=2)
    return "limited"


@pytest.fixture
def limited(system: System, unlimited: str) -> str:
    """An endpoint with a pace and a limit of size."""
    change(system, LIMITS)
    return unlimited


def change(system: System, limits: object) -> None:
    system.studio.send("PATCH", "/endpoints/limited", limits)
    until(lambda: system.studio.get("/endpoints/limited")["routed"], "gateways confirm")


def flood(system: System, name: str, model: str = "tiny", **how: int) -> Flood:
    return Flood(system.studio.infer_url(name, model), system.studio.key(name), **how)


def paced(flood: Flood) -> int:
    """How many were let in while the pace held: as many as it allows, and no more.

    What is too large has been let in, too, when its size is looked at."""
    flood.until("429", 50)  # the burst is used up
    came = flood.during(WINDOW_S)
    let_in = came["200"] + came["large 413"] + came["large 200"]
    # A refill each second: one may fall on either border. Between: nothing is lost below the limit.
    assert (WINDOW_S - 2) * PACE <= let_in <= (WINDOW_S + 2) * PACE, flood.explain()
    return let_in


def test_a_flood_is_refused_beside_a_neighbour(
    system: System, beside: str, limited: str, case: Case
) -> None:
    """An endpoint with limits flooded beside another one under load."""
    with case.under(system.load(beside)) as load, flood(system, limited, large_every=5) as caller:
        let_in = paced(caller)
        caller.until("large 413", 5)
        load.more(100)
    assert caller.lost == 0, caller.explain()
    assert caller.seen["large 200"] == 0, caller.explain()
    assert load.lost == 0, load.explain()
    case.saw(f"{let_in} let in during {WINDOW_S:.0f} s of {PACE} a second; {dict(caller.seen)}")


def test_limits_change_under_the_flood(
    system: System, beside: str, limited: str, case: Case
) -> None:
    """Limits taken away and set again under a flood."""
    with case.under(system.load(beside)) as load, flood(system, limited, large_every=5) as caller:
        paced(caller)
        change(system, {"rate_limit": None, "max_request_bytes": None})
        caller.until("200", 200)
        caller.until("large 200", 10)
        free = caller.during(2.0)
        assert free["429"] == free["large 429"] == free["large 413"] == 0, free
        change(system, LIMITS)
        let_in = paced(caller)
        caller.until("large 413", 5)
        again = caller.during(1.0)
        assert again["large 200"] == 0, again
        load.more(100)
    assert caller.lost == 0, caller.explain()
    assert load.lost == 0, load.explain()
    case.saw(f"free: {dict(free)} in 2 s; then {let_in} let in again; nothing else lost")


def test_limits_outlive_the_gateway(system: System, beside: str, limited: str, case: Case) -> None:
    """Gateway killed (SIGKILL) under a flood."""
    with case.under(system.load(beside)) as load, flood(system, limited, large_every=5) as caller:
        paced(caller)
        envoy = system.child("envoy").pid
        system.kill_child("envoy")
        system.comes_back("envoy", envoy)
        answered = load.seen["200"]
        until(lambda: load.seen["200"] > answered + 100, "it serves again")
        gap, lost = load.burst_s, load.lost
        let_in = paced(caller)
        caller.until("large 413", 5)
        load.more(100)
    assert gap < 10
    assert load.lost == lost, load.explain()  # none but while it was away
    assert caller.seen["large 200"] == 0, caller.explain()
    case.saw(f"away for {gap:.1f} s; {let_in} let in during {WINDOW_S:.0f} s after")


def test_a_deployments_concurrency_is_bounded(
    system: System, beside: str, pair: dict[str, str], case: Case
) -> None:
    """A deployment with max_concurrent_requests_per_instance flooded."""
    studio = system.studio
    studio.register("slow", python_model("slow", SLOW), "slow.zip")
    at_a_time = 2
    operation = studio.deploy(
        "crowded", "slow", node_labels=pair, max_concurrent_requests_per_instance=at_a_time // 2
    )
    studio.succeeded(operation)
    until(lambda: studio.get("/endpoints/crowded")["routed"], "gateways confirm")
    assert at_a_time < CALLERS
    with case.under(system.load(beside)) as load, flood(system, "crowded", "slow") as caller:
        caller.until("200", 20)
        caller.until("429", 20)
        load.more(100)
    assert caller.lost == 0, caller.explain()
    assert load.lost == 0, load.explain()
    studio.delete("crowded")
    case.saw(f"{dict(caller.seen)}")
