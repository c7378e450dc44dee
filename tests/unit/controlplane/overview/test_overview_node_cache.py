"""What lies in a node's cache, over REST, and what placement makes of its quota."""

from dataclasses import replace
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.deployments.placement import Fleet, Machine, Need, Subject, offers_of, place
from controlplane.nodes.models import CachedBlob
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from wire.messages import CachedBlob as Blob
from wire.messages import CacheReport, GpuInfo

GB = 10**9


@pytest.mark.django_db(databases=["default", "metrics"])
def test_blobs_are_listed_with_the_versions_they_belong_to(api: APIClient) -> None:
    node = SimulatedNode("one")
    version = model_register()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    weights, config = version.manifest()
    node.post(
        "cache",
        CacheReport(
            (
                Blob(weights["sha256"], weights["size"], 1_000.0, in_use=True),
                Blob(config["sha256"], config["size"], 3_000.5),
                Blob("0" * 64, 7, 2_000.0),
            )
        ),
    )
    first = api.get("/api/v1/nodes/one/cache?limit=2").json()
    assert [item["sha256"] for item in first["items"]] == [config["sha256"], "0" * 64]
    assert first["items"][0]["files"] == [
        {"model": "digits", "version": 1, "path": "digits/config.pbtxt"}
    ]
    assert (first["items"][1]["files"], first["items"][1]["in_use"]) == ([], False)
    rest = api.get(f"/api/v1/nodes/one/cache?limit=2&cursor={first['next_cursor']}").json()
    (last,) = rest["items"]
    assert (last["sha256"], last["in_use"], rest["next_cursor"]) == (weights["sha256"], True, None)
    found = api.get(f"/api/v1/nodes/one/cache?q={weights['sha256'][:9].upper()}").json()["items"]
    assert [item["sha256"] for item in found] == [weights["sha256"]]
    assert api.get("/api/v1/nodes/two/cache").status_code == 404


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_report_replaces_the_one_before_and_only_its_own_node(api: APIClient) -> None:
    one, two = SimulatedNode("one"), SimulatedNode("two")
    for node in (one, two):
        assert node.post("cache", CacheReport((Blob("a" * 64, 1, 1.0),))).status_code == 200
    one.post("cache", CacheReport((Blob("b" * 64, 2, 1.0), Blob("b" * 64, 2, 2.0))))
    rows = CachedBlob.objects.order_by("node__name").values_list("node__name", "sha256")
    assert list(rows) == [("one", "b" * 64), ("two", "a" * 64)]
    one.post("cache", CacheReport(()))
    assert api.get("/api/v1/nodes/one/cache").json()["items"] == []
    stranger = APIClient().post("/agent/v1/cache", b"{}", content_type="application/json")
    assert stranger.status_code == 401


@pytest.mark.django_db(databases=["default", "metrics"])
def test_readings_of_gpus_are_shown_also_those_of_an_older_agent(api: APIClient) -> None:
    card = GpuInfo(
        0, "GPU-0", "H100", 80 * GB, 3 * GB, 0.5, temperature_c=61.0, power_w=251.3,
        power_limit_w=700.0, driver_version="550.54.15", energy_j=3.6e9,
    )  # fmt: skip
    node = SimulatedNode("one", gpus=(card,), cache_idle_bytes=5, cache_quota_bytes=9)
    info = api.get("/api/v1/nodes/one").json()["info"]
    (shown,) = info["gpus"]
    assert (shown["temperature_c"], shown["power_w"], shown["power_limit_w"]) == (61.0, 251.3, 700)
    assert (shown["driver_version"], info["cache_idle_bytes"]) == ("550.54.15", 5)
    assert shown["energy_j"] == 3.6e9
    row = node.row()
    old = {key: row.info["gpus"][0][key] for key in ("index", "uuid", "name", "utilization")}
    row.info = {**row.info, "gpus": [{**old, "memory_total_bytes": 1, "memory_used_bytes": 0}]}
    row.save()
    (shown,) = api.get("/api/v1/nodes/one").json()["info"]["gpus"]
    assert (shown["temperature_c"], shown["driver_version"], shown["energy_j"]) == (None, "", None)


@pytest.mark.parametrize(
    ("changes", "room"),
    [
        ({}, 13),
        ({"quota_room_bytes": 5 * GB}, 5),
        ({"quota_room_bytes": 50 * GB}, 13),
    ],
)
def test_the_quota_bounds_what_may_come(changes: dict[str, Any], room: int) -> None:
    machine = Machine(
        "n1", "one", disk_total_bytes=100 * GB, disk_free_bytes=10 * GB, cache_bytes=3 * GB
    )
    (offer,) = offers_of(Fleet((replace(machine, **changes),), ()), Subject(1, 1, 1))
    need = Need(ordinals=(0,), backends=frozenset(), size_bytes=room * GB)
    assert place(need, [offer]).assigned == ((0, "n1"),)
    assert place(replace(need, size_bytes=room * GB + 1), [offer]).unplaced == (0,)
