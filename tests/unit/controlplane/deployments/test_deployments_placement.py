"""Placement on GPUs, with anti-affinity and full disks: tables, and what holds for every fleet."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.deployments.placement import (
    Gpu,
    GpuNeed,
    Need,
    Offer,
    disk_pressure,
    explain,
    gpus_for,
    place,
    taken,
)

GB = 10**9
T4 = Gpu("GPU-a", "Tesla T4", 16 * GB, 15 * GB)
MIG = Gpu("MIG-c", "NVIDIA H100 MIG 1g.10gb", 10 * GB, 10 * GB)
A100 = Gpu("GPU-b", "NVIDIA A100-SXM4-40GB", 40 * GB, 4 * GB)
OFFER = Offer(
    node_id="n1",
    name="one",
    state="online",
    age_s=1.0,
    cordoned=False,
    backends=frozenset({"onnxruntime"}),
    disk_total_bytes=100 * GB,
    disk_free_bytes=50 * GB,
    cache_bytes=0,
    replicas=0,
    siblings=0,
    cpu_count=8,
    memory_total_bytes=32 * GB,
    gpus=(T4, A100),
)
NEED = Need(
    ordinals=(0,),
    backends=frozenset({"onnxruntime"}),
    size_bytes=4 * GB,
    instance_type="gpu",
    gpu=GpuNeed(count=1, estimate_bytes=6 * GB),
)


def gpu(**changes: object) -> dict[str, object]:
    return {"gpu": replace(NEED.gpu, **changes)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("need", "offer", "reason"),
    [
        ({}, {"gpus": ()}, "has no GPU, 1 GPU with 6.0 GB free wanted"),
        (
            gpu(estimate_bytes=20 * GB),
            {},
            "has not 1 GPU with 20.0 GB free: Tesla T4 has 15.0 GB free, "
            "NVIDIA A100-SXM4-40GB has 4.0 GB free",
        ),
        (
            gpu(count=2),
            {},
            "has not 2 GPUs with 6.0 GB free: NVIDIA A100-SXM4-40GB has 4.0 GB free",
        ),
        (gpu(count=3, estimate_bytes=0), {}, "has 2 GPUs, 3 GPUs wanted"),
        (
            gpu(count=2, estimate_bytes=0),
            {"gpus": (T4, MIG)},
            "has not 2 GPUs: NVIDIA H100 MIG 1g.10gb is a MIG device: a process can use only one",
        ),
        (
            gpu(model="h100", estimate_bytes=0),
            {"gpus": (T4,)},
            "has not 1 GPU: Tesla T4 is no h100",
        ),
        (
            gpu(least_total_bytes=24 * GB, estimate_bytes=0),
            {"gpus": (T4,)},
            "has not 1 GPU: Tesla T4 has 16.0 GB of memory",
        ),
        (
            gpu(least_free_bytes=20 * GB, least_because="with less it failed on x"),
            {"gpus": (T4,)},
            "has not 1 GPU with 20.0 GB free (with less it failed on x): Tesla T4 has 15.0 GB free",
        ),
        (
            gpu(avoid=frozenset({"GPU-a"}), estimate_bytes=0),
            {"gpus": (T4,)},
            "has not 1 GPU: the replica ran out of memory on Tesla T4",
        ),
        (
            gpu(count=0, least_free_bytes=20 * GB, least_because="with less it failed on x"),
            {},
            "has no GPU with 20.0 GB free (with less it failed on x): 15.0 GB at most",
        ),
        ({"avoid": frozenset({"n1"})}, {}, "the replica ran out of GPU memory there"),
        ({"cpu_count": 16}, {}, "is too small for gpu: 8 of 16 processors"),
        ({"memory_bytes": 64 * GB}, {}, "is too small for gpu: 32.0 GB of 64.0 GB of memory"),
        ({"labels": {"zone": "b"}}, {"labels": {"zone": "a"}}, "has no label zone=b"),
        (
            {"one_per_node": True},
            {"siblings": 1, "twins": 1},
            "runs a replica of this deployment already",
        ),
        ({}, {"disk_pressure": True}, "its disk is nearly full: 50.0 GB are left"),
        (
            {},
            {"no_sandbox_for": ("files", "calls")},
            "it has no sandbox for files, calls, which is required",
        ),
        (
            {},
            {"disk_free_bytes": 3 * GB},
            "3.0 GB of disk are free, the model has 4.0 GB",
        ),
    ],
)
def test_a_node_says_why_not(
    need: dict[str, object], offer: dict[str, object], reason: str
) -> None:
    (verdict,) = explain(replace(NEED, **need), [replace(OFFER, **offer)])  # type: ignore[arg-type]
    assert (verdict.reason, verdict.rank) == (reason, None)
    assert [check.detail for check in verdict.checks if not check.ok] == [reason]


def test_every_reason_is_told_at_once() -> None:
    (verdict,) = explain(NEED, [replace(OFFER, cordoned=True, gpus=(), disk_pressure=True)])
    failed = [check.name for check in verdict.checks if not check.ok]
    assert failed == ["schedulable", "gpus", "disk_pressure"]
    assert verdict.because.count("; ") == 2


@pytest.mark.parametrize(
    ("need", "offer"),
    [
        ({"one_per_node": True}, {"siblings": 1}),  # of another revision: an update may proceed
        ({}, {"disk_free_bytes": 3 * GB, "holds_model": True}),
        (gpu(required=False), {"gpus": ()}),
        (gpu(count=0, least_free_bytes=14 * GB), {}),
        (gpu(count=0, least_free_bytes=14 * GB), {"gpus": ()}),  # it runs on processors there
        (gpu(avoid=frozenset({"GPU-b"})), {}),
        (gpu(least_free_bytes=14 * GB), {}),
        ({"avoid": frozenset({"n2"})}, {}),
        (gpu(model="TESLA"), {}),
        ({"cpu_count": 64}, {"cpu_count": 0}),  # it did not say
    ],
)
def test_what_is_no_hindrance(need: dict[str, object], offer: dict[str, object]) -> None:
    (verdict,) = explain(replace(NEED, **need), [replace(OFFER, **offer)])  # type: ignore[arg-type]
    assert (verdict.reason, verdict.rank) == (None, 1)


@pytest.mark.parametrize(
    ("gpus", "chosen"),
    [
        ((T4, replace(A100, memory_free_bytes=20 * GB)), "GPU-a"),  # the tightest fit
        ((replace(T4, replicas=1), replace(A100, memory_free_bytes=20 * GB)), "GPU-b"),
        ((replace(T4, uuid="GPU-z"), T4), "GPU-a"),  # equal ones by name
    ],
)
def test_which_gpu_it_gets(gpus: tuple[Gpu, ...], chosen: str) -> None:
    (got,) = gpus_for(NEED.gpu, replace(OFFER, gpus=gpus))
    assert got.uuid == chosen


def test_replicas_fill_gpus_until_none_has_room() -> None:
    placed = place(replace(NEED, ordinals=(0, 1, 2)), [OFFER])
    assert placed.assigned == ((0, "n1"), (1, "n1"))  # 15 GB hold 6 twice, 4 GB hold none
    assert placed.unplaced == (2,)
    assert "Tesla T4 has 3.0 GB free" in placed.why_not()


def test_a_wished_for_gpu_wins_over_spreading_and_processors_spare_gpus() -> None:
    plain = replace(OFFER, node_id="n2", name="two", gpus=())
    wish = replace(NEED, gpu=replace(NEED.gpu, required=False))
    assert place(wish, [plain, replace(OFFER, siblings=1)]).assigned == ((0, "n1"),)
    processors = replace(NEED, instance_type="cpu", gpu=GpuNeed())
    assert place(processors, [OFFER, replace(plain, replicas=3)]).assigned == ((0, "n2"),)


@pytest.mark.parametrize(
    ("total", "free", "pressed"),
    [
        (0, 0, False),  # it did not say
        (100 * GB, 3 * GB, False),
        (100 * GB, 1 * GB, True),
        (10 * GB, 600 * 10**6, False),  # small disks by their share
        (10 * GB, 400 * 10**6, True),
    ],
)
def test_when_a_disk_is_nearly_full(total: int, free: int, pressed: bool) -> None:
    assert disk_pressure(total, free) is pressed


cards = st.builds(
    Gpu,
    uuid=st.uuids().map(str),
    name=st.sampled_from(["Tesla T4", "NVIDIA A100"]),
    memory_total_bytes=st.just(16),
    memory_free_bytes=st.integers(-4, 16),
    replicas=st.integers(0, 3),
)
fleets = st.lists(
    st.builds(
        Offer,
        node_id=st.uuids().map(str),
        name=st.uuids().map(lambda value: f"node-{value}"),
        state=st.sampled_from(["online", "online", "online", "suspect", "offline"]),
        age_s=st.just(1.0),
        cordoned=st.booleans(),
        backends=st.just(frozenset({"onnxruntime"})),
        disk_total_bytes=st.just(100),
        disk_free_bytes=st.integers(0, 100),
        cache_bytes=st.just(0),
        replicas=st.integers(0, 5),
        siblings=st.integers(0, 2),
        twins=st.integers(0, 1),
        gpus=st.lists(cards, max_size=3).map(tuple),
        disk_pressure=st.booleans(),
        holds_model=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda offer: offer.node_id,
)
needs = st.builds(
    Need,
    ordinals=st.integers(0, 5).map(lambda count: tuple(range(count))),
    backends=st.just(frozenset({"onnxruntime"})),
    size_bytes=st.integers(0, 60),
    gpu=st.builds(
        GpuNeed,
        count=st.integers(0, 2),
        required=st.booleans(),
        model=st.sampled_from(["", "t4"]),
        estimate_bytes=st.integers(0, 10),
    ),
    one_per_node=st.booleans(),
)


@given(need=needs, offers=fleets)
def test_what_holds_for_every_fleet(need: Need, offers: list[Offer]) -> None:
    placed = place(need, offers)
    ordinals = sorted([ordinal for ordinal, _ in placed.assigned] + list(placed.unplaced))
    assert ordinals == sorted(need.ordinals)  # each is placed once, or said to be unplaced
    assert place(need, list(reversed(offers))).assigned == placed.assigned
    left = {offer.node_id: offer for offer in offers}
    for _, node_id in placed.assigned:
        offer = left[node_id]
        assert (offer.state, offer.cordoned, offer.disk_pressure) == ("online", False, False)
        if need.gpu.count and need.gpu.required:
            given_gpus = gpus_for(need.gpu, offer)
            assert len(given_gpus) == need.gpu.count
            assert all(g.memory_free_bytes >= need.gpu.estimate_bytes for g in given_gpus)
        if need.one_per_node:
            assert not offer.twins
        left[node_id] = taken(need, offer)
    if placed.unplaced:  # nobody who could take one is left out
        assert len(placed.refusals) == len(offers)


@given(need=needs, offers=fleets)
def test_every_node_gets_one_verdict(need: Need, offers: list[Offer]) -> None:
    verdicts = explain(need, offers)
    assert sorted(verdict.node for verdict in verdicts) == sorted(offer.name for offer in offers)
    ranks = [verdict.rank for verdict in verdicts if verdict.rank is not None]
    assert ranks == list(range(1, len(ranks) + 1))
    for verdict in verdicts:
        assert (verdict.rank is None) == any(not check.ok for check in verdict.checks)
        assert bool(verdict.reason) == (verdict.rank is None)
    first = place(replace(need, ordinals=(0,)), offers)
    names = {offer.node_id: offer.name for offer in offers}
    assert [names[node_id] for _, node_id in first.assigned] == [
        verdict.node for verdict in verdicts if verdict.rank == 1
    ]
