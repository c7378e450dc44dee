"""Nothing of a node is given away twice, and a drain does what its preview said."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from controlplane.deployments.models import Deployment, Replica
from controlplane.deployments.placement import (
    Card,
    Departure,
    Fleet,
    GpuNeed,
    Machine,
    Need,
    Subject,
    Tenant,
    gpu_estimate,
    offers_of,
    place,
    relocate,
    settled,
)
from controlplane.operations import services
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

GB = 10**9
ONE = Machine("n1", "one", disk_total_bytes=100 * GB, disk_free_bytes=10 * GB)
BLUE, GREEN = Subject(1, 1, 1), Subject(2, 2, 2)
NEED = Need(ordinals=(0,), backends=frozenset(), size_bytes=6 * GB)


def test_a_second_model_does_not_get_the_disk_that_the_first_will_fill() -> None:
    fleet = Fleet((ONE,), ())
    (first, second), _ = relocate(fleet, [Departure(BLUE, NEED), Departure(GREEN, NEED)])
    assert first.assigned == ((0, "n1"),)
    assert second.unplaced == (0,)
    assert second.why_not() == (
        "one: 4.0 GB of disk are free, the model has 6.0 GB; "
        "6.0 GB more are promised to other downloads"
    )


@pytest.mark.parametrize(
    ("tenants", "free"),
    [
        ([], 10),
        ([("pending", 0)], 4),
        ([("downloading", 5)], 9),  # of 6, five are on the disk by now, which it shows
        ([("pending", 0), ("downloading", 5)], 9),  # of one version: they share the files
        ([("ready", 0), ("pending", 0)], 10),
    ],
)
def test_downloads_under_way_are_promised_their_disk(
    tenants: list[tuple[str, int]], free: int
) -> None:
    there = tuple(Tenant("n1", GREEN, state, 6 * GB, done * GB) for state, done in tenants)
    (offer,) = offers_of(Fleet((ONE,), there), BLUE)
    assert offer.disk_room_bytes == free * GB


def test_replicas_of_one_model_share_its_files() -> None:
    (offer,) = offers_of(Fleet((ONE,), (Tenant("n1", BLUE, "pending", 6 * GB),)), BLUE)
    assert place(replace(NEED, ordinals=(1, 2)), [offer]).assigned == ((1, "n1"), (2, "n1"))


machines = st.lists(
    st.builds(
        Machine,
        node_id=st.sampled_from(["n1", "n2", "n3", "n4"]),
        name=st.just(""),
        cordoned=st.sampled_from([False, False, True]),
        disk_total_bytes=st.just(100 * GB),
        disk_free_bytes=st.integers(0, 20).map(lambda size: size * GB),
        cache_bytes=st.integers(0, 3).map(lambda size: size * GB),
        cards=st.lists(
            st.builds(
                Card,
                uuid=st.uuids().map(str),
                name=st.just("T4"),
                memory_total_bytes=st.just(16 * GB),
                memory_used_bytes=st.integers(0, 16).map(lambda size: size * GB),
            ),
            max_size=2,
        ).map(tuple),
    ),
    min_size=1,
    unique_by=lambda machine: machine.node_id,
).map(lambda found: tuple(replace(machine, name=machine.node_id) for machine in found))


@st.composite
def departures(draw: st.DrawFn) -> list[Departure]:
    sizes = [draw(st.integers(0, 9)) * GB for _ in range(3)]  # of one version all have one size
    found = []
    for number in range(draw(st.integers(0, 5))):
        version, cards = draw(st.integers(0, 2)), draw(st.integers(0, 1))
        estimate = gpu_estimate(sizes[version], cards) if cards else 0
        need = Need(
            ordinals=tuple(range(draw(st.integers(1, 4)))),
            backends=frozenset(),
            size_bytes=sizes[version],
            gpu=GpuNeed(count=cards, estimate_bytes=estimate),
            one_per_node=draw(st.booleans()),
        )
        found.append(Departure(Subject(number, number, version), need))
    return found


@given(machines=machines, leaving=departures())
def test_all_at_once_is_one_after_the_other(
    machines: tuple[Machine, ...], leaving: list[Departure]
) -> None:
    fleet = Fleet(machines, ())
    at_once, after = relocate(fleet, leaving)
    for departure, placed in zip(leaving, at_once, strict=True):
        (alone,), _ = relocate(fleet, [departure])
        assert alone == placed
        fleet = settled(fleet, departure, alone.assigned)  # what writing the rows does
    assert fleet == after


@given(machines=machines, leaving=departures())
def test_nothing_is_given_away_twice(
    machines: tuple[Machine, ...], leaving: list[Departure]
) -> None:
    placed, after = relocate(Fleet(machines, ()), leaving)
    for departure, where in zip(leaving, placed, strict=True):
        said = sorted([ordinal for ordinal, _ in where.assigned] + list(where.unplaced))
        assert said == sorted(departure.need.ordinals)
    for machine in machines:
        here = [tenant for tenant in after.tenants if tenant.node_id == machine.node_id]
        assert not (machine.cordoned and here)
        downloads = {tenant.subject.version_id: tenant.size_bytes for tenant in here}
        assert sum(downloads.values()) <= machine.disk_free_bytes + machine.cache_bytes
        for card in machine.cards:
            users = [tenant for tenant in here if card.uuid in tenant.gpus]
            free = card.memory_total_bytes - card.memory_used_bytes
            assert sum(tenant.gpu_bytes for tenant in users) <= free or not users


@pytest.fixture
def busy(api: APIClient) -> dict[str, SimulatedNode]:
    """Three models on two nodes; two empty nodes with little disk for them."""
    nodes = {name: SimulatedNode(name) for name in ("a", "b")}
    for name in ("digits", "letters", "words"):
        model_register(name)
        body = {"model": name, "instance_count": 2}
        answer = api.post("/api/v1/deploy", body, format="json")
        assert answer.status_code < 300, answer.content
    for node in nodes.values():
        node.bring_up()
    gateway_confirms()
    for name in ("c", "d"):
        nodes[name] = SimulatedNode(name)
    return nodes


def _targets() -> dict[tuple[str, int], str]:
    rows = Replica.objects.filter(node__name__in=["c", "d"])
    return {(row.deployment.endpoint.name, row.ordinal): row.node.name for row in rows}


@pytest.mark.django_db(databases=["default", "metrics"])
@pytest.mark.parametrize("names", [["a"], ["b"], ["a", "b"]])
@pytest.mark.parametrize("free", [3, 1])
def test_what_is_previewed_is_what_happens(
    admin_api: APIClient, busy: dict[str, SimulatedNode], names: list[str], free: int
) -> None:
    size = Deployment.objects.all()[0].revision.model_version.size
    others = {"a": "b", "b": "a"}
    if len(names) == 1:
        admin_api.post(f"/api/v1/nodes/{others[names[0]]}/cordon")
    for name in ("c", "d"):
        # why so large: below that its disk is nearly full, and that is another reason
        info = {"disk_total_bytes": size * free, "disk_free_bytes": size * free}
        node = busy[name]
        node.info = replace(node.info, **info)  # type: ignore[arg-type]
        node.report()
    body: dict[str, Any] = {"nodes": names, "dry_run": True}
    preview = admin_api.post("/api/v1/drains", body, format="json")
    assert preview.status_code == 200, preview.content
    moves = preview.json()["moves"]
    said = {(m["endpoint"], m["ordinal"]): m["to"] for m in moves if m["to"]}
    assert {move["node"] for move in moves} == set(names)
    assert any(move["to"] is None for move in moves) == (free == 1)
    done = admin_api.post("/api/v1/drains", {"nodes": names, "force": free == 1}, format="json")
    assert (done.status_code, done.json()["moves"]) == (202, moves)
    assert _targets() == said
    services.drains_advance(now=timezone.now() + timedelta(seconds=1))
    assert _targets() == said  # asked again, nothing else is placed


@pytest.mark.django_db(databases=["default", "metrics"])
def test_of_several_all_are_drained_or_none(
    admin_api: APIClient, busy: dict[str, SimulatedNode]
) -> None:
    for name in ("c", "d"):
        admin_api.post(f"/api/v1/nodes/{name}/cordon")
    body = {"nodes": ["a", "b"]}
    refused = admin_api.post("/api/v1/drains", body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "OutOfCapacity")
    assert [admin_api.get(f"/api/v1/nodes/{name}").json()["drain"] for name in "ab"] == [None, None]
    unknown = admin_api.post("/api/v1/drains", {"nodes": ["a", "x"]}, format="json")
    assert unknown.status_code == 404


@pytest.mark.django_db(databases=["default", "metrics"])
def test_the_preview_says_what_waits_for_an_operation(
    admin_api: APIClient, busy: dict[str, SimulatedNode]
) -> None:
    Deployment.objects.filter(endpoint__name="words").update(provisioning_state="Updating")
    moves = admin_api.post("/api/v1/nodes/a/drain", {"dry_run": True}, format="json").json()[
        "moves"
    ]
    waits = {move["endpoint"]: move["waits_for"] for move in moves}
    assert waits == {"digits": "", "letters": "", "words": "blue is Updating"}
