"""Use, headroom, cost, waste and loss, from facts alone."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.capacity.cost import LabelPrice, PriceList, cost_of, replica_prices
from controlplane.capacity.facts import (
    Card,
    DeploymentFacts,
    Measured,
    NodeFacts,
    ReplicaFacts,
    Swept,
)
from controlplane.capacity.headroom import headroom
from controlplane.capacity.loss import (
    EndpointLoss,
    Reason,
    Resident,
    can_be_emptied,
    nodes_lost,
    reasons_of,
)
from controlplane.capacity.use import Amount, node_uses, totals
from controlplane.capacity.waste import deployments_waste, nodes_waste
from controlplane.deployments import placement
from controlplane.deployments.placement import Refusal

GB = 10**9
SWEPT = Swept(rate=200.0, point="within p95 ≤ 5 ms", when="2026-11-27")


def node(name: str = "a", **values: Any) -> NodeFacts:
    machine = {"processors": 8, "memory_total_bytes": 32 * GB}
    return NodeFacts(id=name, name=name, **{**machine, **values})


def card(uuid: str = "g1", used: int = 0, **values: Any) -> Card:
    return Card(uuid, "T4", 16 * GB, used, **values)


def replica(key: str = "r1", at: str = "a", deployment: int = 1, **values: Any) -> ReplicaFacts:
    return ReplicaFacts(id=key, node_id=at, deployment_id=deployment, **values)


def deployment(*replicas: ReplicaFacts, key: int = 1, **values: Any) -> DeploymentFacts:
    names = {"endpoint": f"e{key}", "name": "blue", "project": "default", "traffic": 100}
    return DeploymentFacts(id=key, replicas=replicas, **{**names, **values})


def day(**values: Any) -> Measured:
    return Measured(seconds=86_400.0, **{"requests": 1000, "request_rate": 1.0, **values})


def test_what_is_promised_and_what_is_used_do_not_add_up() -> None:
    assert Amount.of(8, promised=4, used=2).idle == 4
    assert Amount.of(8, promised=2, used=5).idle == 3
    assert Amount.of(8, promised=9, used=1).idle == 0
    assert Amount().idle_share == 0


def test_what_one_node_does_not_use_does_not_make_another_idle() -> None:
    """One is full and promised to nobody, the other promised as a whole and unused."""
    nodes = [node("full", cpu=1.0), node("given", cpu=0.0)]
    uses = node_uses(nodes, [replica(at="given", cpu_count=8)])
    assert totals(uses).processors == Amount(16, promised=8, used=8, idle=0)


def test_a_gpu_that_somebody_computes_on_without_having_been_given_it_is_not_idle() -> None:
    cards = (card("given"), card("taken", utilization=1.0), card("free", utilization=0.0))
    (found,) = node_uses([node(cards=cards)], [replica(gpus=("given",))])
    assert found.use.gpus == Amount(3, promised=1, used=1, idle=1)


def test_a_gpu_that_two_replicas_share_is_promised_once() -> None:
    both = [replica(key, gpus=("g1",), gpu_bytes=10 * GB, cpu_count=2) for key in ("r1", "r2")]
    (found,) = node_uses([node(cards=(card(used=3 * GB), card("g2")))], both)
    assert (found.use.gpus.total, found.use.gpus.promised) == (2, 1)
    assert found.use.gpu_memory == Amount(
        32 * GB, 16 * GB, 3 * GB, 16 * GB
    )  # no more than the card has
    assert found.use.processors.promised == 4
    assert found.use.idle == 0.5


def test_the_idlest_node_comes_first_and_silent_ones_last() -> None:
    nodes = [
        node("full", cpu=0.9), node("idle", cpu=0.1), node("silent", cpu=0.0, online=False),
        node("half", cpu=0.5),
    ]  # fmt: skip
    uses = node_uses(nodes, [])
    assert [one.node.name for one in uses] == ["idle", "half", "full", "silent"]
    assert totals(uses).processors.total == 24  # of those that are online


@pytest.mark.parametrize(
    ("facts", "nodes", "times", "limit"),
    [
        (deployment(), [], None, ""),
        (deployment(replica()), [], None, ""),
        (deployment(replica(), measured=day(requests=0, request_rate=0.0)), [], None, ""),
        (deployment(replica(), measured=day()), [], None, ""),
        (deployment(replica(), measured=day(busy=0.25)), [], 4, "instances"),
        (deployment(replica(), measured=day(busy=0.0001)), [], None, ""),
        (deployment(replica(), measured=day(busy=1.2)), [], 1 / 1.2, "instances"),
        # 2 of 8 processors are its own, and 4 are free: three times as much fits
        (deployment(replica(), measured=day(cpu=2.0)), [node(cpu_peak=0.5)], 3, "processors"),
        # of a node on which nothing was measured nobody knows what is free
        (deployment(replica(), measured=day(cpu=2.0)), [node()], None, ""),
        (
            deployment(replica(), replica("r2", at="b"), measured=day(cpu=2.0)),
            [node(cpu_peak=0.5), node("b")], None, "",
        ),
        (
            deployment(replica(gpus=("g1",)), measured=day(busy=0.1)),
            [node(cards=(card(peak=0.5), card("g2", peak=0.9)))], 2, "gpus",
        ),
        (
            deployment(replica(), max_concurrent=4, measured=day(concurrency=2.0, busy=0.3)),
            [], 2, "concurrency",
        ),
        (deployment(replica(), measured=day(concurrency=2.0)), [], None, ""),
        # what was measured counts before what is thought; two replicas, each as the measured one
        (
            deployment(replica(), replica("r2"), measured=day(request_rate=50.0, busy=0.9),
                       swept=SWEPT), [], 8, "sweep",
        ),
        (
            deployment(replica(), replica("r2", ready=False), measured=day(request_rate=400.0),
                       swept=SWEPT), [], 0.5, "sweep",
        ),
        (deployment(replica(), measured=day(request_rate=0.01), swept=SWEPT), [], 1000, "sweep"),
        (deployment(replica(), measured=day(busy=0.25, request_rate=None), swept=SWEPT),
         [], 4, "instances"),
        (deployment(replica(ready=False), measured=day(request_rate=1.0), swept=SWEPT),
         [], None, ""),
    ],
)  # fmt: skip
def test_the_first_limit_that_is_reached_is_the_headroom(
    facts: DeploymentFacts, nodes: list[NodeFacts], times: float | None, limit: str
) -> None:
    found = headroom(facts, {one.id: one for one in nodes})
    assert found.times == (times if times is None else pytest.approx(times))
    assert found.limit == limit
    assert found.because  # also when it is not known


def test_an_instance_type_has_its_price_and_the_others_share_their_nodes() -> None:
    nodes = [node("a"), node("b", labels={"zone": "x"}), node("c", labels={"zone": "y"})]
    rows = [
        replica("typed", "a", instance_type="gpu-t4"), replica("one", "a"), replica("two", "a"),
        replica("labelled", "b"), replica("nobody", "c"),
    ]  # fmt: skip
    prices = PriceList("EUR", {"gpu-t4": 3.0}, {"a": 1.0}, (LabelPrice("zone", "x", 0.5),))
    found = replica_prices(nodes, rows, prices)
    assert found == {"typed": 3.0, "one": 0.5, "two": 0.5, "labelled": 0.5}
    cost = cost_of(rows, found, day(requests=2000))
    assert (cost.per_hour, cost.per_day, cost.unpriced) == (4.5, 108.0, 1)
    assert cost.per_1000_requests == 4.5 * 24 / 2
    assert cost_of(rows, {}, day()).per_hour is None
    assert cost_of(rows, found, day(requests=0)).per_1000_requests is None


def test_waste_has_its_figures_and_what_to_do() -> None:
    used = day(memory_bytes=1.0 * GB)
    rows = [
        deployment(replica(), key=1, measured=day(requests=0, request_rate=0.0)),
        deployment(replica(memory_bytes=16 * GB, instance_type="big"), key=2, measured=used),
        deployment(replica(memory_bytes=2 * GB), key=3, measured=used),
        deployment(replica(), key=4, measured=replace(used, seconds=60.0, requests=0)),
        deployment(replica(), key=5),
    ]
    found = list(deployments_waste(rows))
    assert [(one.code, one.subject) for one in found] == [
        ("deployment-unused", "e1/blue"), ("memory-hardly-used", "e2/blue"),
    ]  # fmt: skip
    assert "16.0 GB" in found[1].text
    assert "big" in found[1].text


def test_a_gpu_is_wasted_when_its_busiest_hour_says_so_and_never_for_want_of_figures() -> None:
    gpus = (
        card("still", used=9 * GB, peak=0.01), card("busy", used=9 * GB, peak=0.8),
        card("untold", used=9 * GB), card("empty", used=1 * GB, peak=0.8), card("free"),
    )  # fmt: skip
    rows = [
        replica(uuid, gpus=(uuid,), gpu_bytes=9 * GB)
        for uuid in ("still", "busy", "untold", "empty")
    ]
    nodes = [node(cards=gpus), node("spare"), node("silent", online=False)]
    found = list(nodes_waste(nodes, rows, {1: "e1/blue"}))
    assert [(one.code, one.subject) for one in found] == [
        ("gpu-hardly-used", "a"), ("gpu-memory-hardly-used", "a"), ("node-empty", "spare"),
    ]  # fmt: skip
    assert "1.0%" in found[0].text


def machine(name: str, **values: Any) -> placement.Machine:
    return placement.Machine(
        node_id=name, name=name, disk_total_bytes=100 * GB, disk_free_bytes=50 * GB, **values
    )


def resident(*replicas: ReplicaFacts, key: int = 1, size: int = GB, **need: Any) -> Resident:
    subject = placement.Subject(key, key, key)
    facts = deployment(*replicas, key=key)
    return Resident(facts, subject, placement.Need((), frozenset(), size, **need))


def fleet(machines: list[placement.Machine], residents: list[Resident]) -> placement.Fleet:
    tenants = tuple(
        placement.Tenant(row.node_id, one.subject, "ready", GB, gpus=row.gpus)
        for one in residents
        for row in one.facts.replicas
    )
    return placement.Fleet(tuple(machines), tenants)


def test_what_a_lost_node_had_goes_where_placement_puts_it() -> None:
    one = resident(replica("r1", "a"), replica("r2", "b", ordinal=1))
    two = resident(replica("r3", "a", deployment=2), key=2)
    gone = nodes_lost(
        fleet([machine("a"), machine("b"), machine("c")], [one, two]), {"a"}, [one, two]
    )
    assert {(row.replica, row.node, row.to) for row in gone.replicas} == {
        ("r1", "a", "c"), ("r3", "a", "b"),
    }  # fmt: skip
    assert [(row.lost, row.placed, row.ready_left) for row in gone.deployments] == [
        (1, 1, 1), (1, 1, 0),
    ]  # fmt: skip
    assert gone.endpoints == (EndpointLoss("e2", 100, comes_back=True),)


def test_two_nodes_that_are_lost_at_once_are_no_place_for_one_another() -> None:
    one = resident(replica("r1", "a"), replica("r2", "b", ordinal=1), labels={"zone": "x"})
    machines = [
        machine("a", labels={"zone": "x"}),
        machine("b", labels={"zone": "x"}),
        machine("c"),
    ]
    alone = nodes_lost(fleet(machines, [one]), {"a"}, [one])
    assert [(row.replica, row.to) for row in alone.replicas] == [("r1", "b")]
    assert alone.endpoints == ()
    both = nodes_lost(fleet(machines, [one]), {"a", "b"}, [one])
    assert [row.to for row in both.replicas] == [None, None]
    assert both.deployments[0].reasons == (Reason("has no label zone=x", 1),)
    assert both.endpoints == (EndpointLoss("e1", 100, comes_back=False),)


def test_the_last_gpu_goes_to_the_first_and_the_second_finds_none() -> None:
    size = 7 * GB
    gpu = placement.GpuNeed(count=1, estimate_bytes=placement.gpu_estimate(size, 1))
    t4 = {key: placement.Card(key, "T4", 16 * GB, 0) for key in ("g1", "g2", "g3")}
    machines = [machine("a", cards=(t4["g1"], t4["g2"])), machine("b", cards=(t4["g3"],))]
    rows = [
        resident(replica(f"r{key}", "a", key, gpus=(f"g{key}",)), key=key, size=size, gpu=gpu)
        for key in (1, 2)
    ]
    gone = nodes_lost(fleet(machines, rows), {"a"}, rows)
    assert [row.to for row in gone.replicas] == ["b", None]
    assert [row.comes_back for row in gone.endpoints] == [True, False]


def test_a_node_without_a_place_for_its_replicas_cannot_be_emptied() -> None:
    one = resident(replica("r1", "a"))
    assert can_be_emptied(fleet([machine("a"), machine("b")], [one]), "a", [one])
    assert not can_be_emptied(fleet([machine("a"), machine("b", cordoned=True)], [one]), "a", [one])


def test_the_commonest_reasons_are_told_once_each() -> None:
    refusals = [Refusal(f"n{number}", "cordoned") for number in range(900)]
    refusals += [Refusal(f"m{number}", f"reason {number}") for number in range(20)]
    found = reasons_of(refusals)
    assert found[0] == Reason("cordoned", 900)
    assert len(found) == 5
